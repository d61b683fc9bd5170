//! A page as many sites have it, the same each time: a document, styles, scripts and images of all sizes, 65 objects
//! and 2 MB. Some images are found late: by a style, and by a script that has run.

use core::fmt::Write;
use units::{Rng, Streams};

/// Styles and scripts, and how many bytes each has.
const STYLES: (usize, usize) = (4, 20_000);
const SCRIPTS: (usize, usize) = (12, 40_000);
/// Images that the document, a style and a script name.
const IN_DOCUMENT: usize = 36;
const IN_STYLE: usize = 4;
const IN_SCRIPT: usize = 8;
const IMAGES: usize = IN_DOCUMENT + IN_STYLE + IN_SCRIPT;
/// The smallest image, and how often the largest is as large: the others are between, evenly by their logarithm.
const SMALLEST_BYTES: f64 = 4_000.0;
const SPREAD: f64 = 25.0;
/// Pixels of an image's row.
const WIDTH: usize = 64;
/// Bytes of text in the document.
const TEXT_BYTES: usize = 28_000;

/// An object of the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Object {
    /// Its name below the page's folder, without folders of its own.
    pub(super) name: String,
    /// What it consists of.
    pub(super) bytes: Vec<u8>,
}

/// All objects of the page; the document is `index.html`.
pub(super) fn page() -> Vec<Object> {
    let streams = Streams::new(1);
    let mut objects = vec![object(
        "index.html",
        document(&mut streams.stream("document")),
    )];
    for index in 0..STYLES.0 {
        let text = style(index, &mut streams.stream(&format!("style/{index}")));
        objects.push(object(&style_name(index), text));
    }
    for index in 0..SCRIPTS.0 {
        let text = script(index, &mut streams.stream(&format!("script/{index}")));
        objects.push(object(&script_name(index), text));
    }
    for index in 0..IMAGES {
        let rng = &mut streams.stream(&format!("image/{index}"));
        objects.push(Object {
            name: image_name(index),
            bytes: image(image_rows(index), rng),
        });
    }
    objects
}

fn object(name: &str, text: String) -> Object {
    Object {
        name: name.to_owned(),
        bytes: text.into_bytes(),
    }
}

fn style_name(index: usize) -> String {
    format!("style-{index}.css")
}

fn script_name(index: usize) -> String {
    format!("script-{index}.js")
}

fn image_name(index: usize) -> String {
    format!("image-{index}.bmp")
}

fn document(rng: &mut Rng) -> String {
    let mut text = String::from(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>A page</title>\n",
    );
    // no browser is to look for one
    line(
        &mut text,
        format_args!("<link rel=\"icon\" href=\"data:,\">"),
    );
    for index in 0..STYLES.0 {
        line(
            &mut text,
            format_args!("<link rel=\"stylesheet\" href=\"{}\">", style_name(index)),
        );
    }
    for index in 0..SCRIPTS.0 {
        line(
            &mut text,
            format_args!("<script defer src=\"{}\"></script>", script_name(index)),
        );
    }
    text.push_str("</head><body>\n");
    for index in 0..IN_STYLE {
        line(
            &mut text,
            format_args!("<div class=\"banner-{index}\"></div>"),
        );
    }
    for index in 0..IN_DOCUMENT {
        let words = noise(TEXT_BYTES / IN_DOCUMENT, rng);
        line(
            &mut text,
            format_args!("<p>{words}</p><img alt=\"\" src=\"{}\">", image_name(index)),
        );
    }
    text.push_str("</body></html>\n");
    text
}

/// The first style has the images of banners.
fn style(index: usize, rng: &mut Rng) -> String {
    let mut text = String::new();
    if index == 0 {
        for banner in 0..IN_STYLE {
            let image = image_name(IN_DOCUMENT + banner);
            line(
                &mut text,
                format_args!(".banner-{banner} {{ height: 40px; background: url({image}) }}"),
            );
        }
    }
    filled(text, STYLES.1, rng)
}

/// The last script adds images.
fn script(index: usize, rng: &mut Rng) -> String {
    let mut text = String::new();
    if index + 1 == SCRIPTS.0 {
        for image in IN_DOCUMENT + IN_STYLE..IMAGES {
            let name = image_name(image);
            line(
                &mut text,
                format_args!(
                    "document.body.append(Object.assign(new Image(), {{ src: \"{name}\" }}));"
                ),
            );
        }
    }
    filled(text, SCRIPTS.1, rng)
}

/// Text of so many bytes by a comment at its end.
fn filled(mut text: String, bytes: usize, rng: &mut Rng) -> String {
    let rest = bytes.saturating_sub(text.len() + "/**/\n".len());
    let noise = noise(rest, rng);
    line(&mut text, format_args!("/*{noise}*/"));
    text
}

fn line(text: &mut String, what: core::fmt::Arguments<'_>) {
    // writing to a text cannot fail
    let _ = writeln!(text, "{what}");
}

/// So many bytes of words of random letters, which no server can compress to much less.
fn noise(bytes: usize, rng: &mut Rng) -> String {
    let letter = |rng: &mut Rng| match rng.below(7) {
        0 => ' ',
        _ => char::from(b'a' + rng.below(26) as u8),
    };
    (0..bytes).map(|_| letter(rng)).collect()
}

/// Rows of an image: neighbours differ much, as they do on pages.
fn image_rows(index: usize) -> usize {
    // 17 has no factor in common with their number
    let rank = (index * 17) % IMAGES;
    let bytes = SMALLEST_BYTES * SPREAD.powf(rank as f64 / (IMAGES - 1) as f64);
    (bytes / (3 * WIDTH) as f64) as usize
}

/// A bitmap of random pixels: a header of 14 bytes, one of 40 bytes, and three bytes a pixel.
fn image(rows: usize, rng: &mut Rng) -> Vec<u8> {
    let pixels = 3 * WIDTH * rows;
    let [size, width, height] =
        [54 + pixels, WIDTH, rows].map(|value| (value as u32).to_le_bytes());
    let mut bytes = Vec::with_capacity(54 + pixels);
    bytes.extend_from_slice(b"BM");
    bytes.extend_from_slice(&size);
    bytes.extend_from_slice(&[0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]);
    bytes.extend_from_slice(&width);
    bytes.extend_from_slice(&height);
    // one plane, 24 bits a pixel, uncompressed; the rest is unspecified
    bytes.extend_from_slice(&[1, 0, 24, 0]);
    bytes.resize(54, 0);
    while bytes.len() < 54 + pixels {
        bytes.extend_from_slice(&rng.next_u64().to_le_bytes());
    }
    bytes.truncate(54 + pixels);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_page_is_the_same_each_time_and_of_a_usual_size() {
        let objects = page();
        assert_eq!(objects, page());
        let names: BTreeSet<&str> = objects.iter().map(|object| object.name.as_str()).collect();
        assert_eq!((objects.len(), names.len()), (65, 65));
        let bytes: usize = objects.iter().map(|object| object.bytes.len()).sum();
        assert!((1_900_000..2_100_000).contains(&bytes), "{bytes}");
    }

    #[test]
    fn every_object_is_named_by_another_one() {
        let objects = page();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let is_text = |object: &&Object| !object.name.ends_with(".bmp");
        let all: String = objects
            .iter()
            .filter(is_text)
            .map(|object| text(&object.bytes))
            .collect();
        for object in &objects[1..] {
            let [quoted, in_style] = [format!("\"{}\"", object.name), format!("({})", object.name)];
            let times = all.matches(&quoted).count() + all.matches(&in_style).count();
            assert_eq!(times, 1, "{}", object.name);
        }
    }

    #[test]
    fn images_are_bitmaps_whose_headers_state_their_size() {
        for object in page().iter().filter(|object| object.name.ends_with(".bmp")) {
            let field = |at: usize| {
                let bytes = object.bytes[at..at + 4].try_into().expect("four bytes");
                u32::from_le_bytes(bytes) as usize
            };
            assert_eq!(field(2), object.bytes.len());
            assert_eq!(54 + 3 * field(18) * field(22), object.bytes.len());
        }
    }
}
