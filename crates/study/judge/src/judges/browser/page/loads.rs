//! What Chromium measured of the loads of a page.

use crate::judge::{Measure, Problem, better};
use crate::judges::browser::download::Downloaded;
use serde::Deserialize;

/// As messages name the program.
const CHROMIUM: &str = "chromium";

/// What `page.py` prints.
#[derive(Debug, Deserialize)]
struct Loads {
    loads: Vec<Load>,
    download: Option<Downloaded>,
}

/// One load; times since the navigation's start.
#[derive(Debug, Deserialize)]
struct Load {
    load_ms: f64,
    connected_ms: f64,
    first_contentful_paint_ms: f64,
    objects: Vec<Loaded>,
}

/// An object that was loaded.
#[derive(Debug, Deserialize)]
struct Loaded {
    name: String,
    protocol: String,
    status: u16,
}

/// The measures of loads of a page of so many objects, each of which came by this protocol.
///
/// # Errors
/// If an object is missing or came in another way.
pub(super) fn read(text: &str, protocol: &str, objects: usize) -> Result<Vec<Measure>, Problem> {
    let loads: Loads = serde_json::from_str(text)
        .map_err(|error| Problem::missing(CHROMIUM, format!("loads: {error}")))?;
    for load in &loads.loads {
        check(load, protocol, objects)?;
    }
    let of = |value: fn(&Load) -> f64| {
        let middle = median(loads.loads.iter().map(value).collect());
        middle.ok_or_else(|| Problem::missing(CHROMIUM, "load"))
    };
    let slowest = loads.loads.iter().map(|load| load.load_ms);
    let mut measures = vec![
        better::lower("load-p50", "ms", of(|load| load.load_ms)?),
        better::lower("load-max", "ms", slowest.fold(0.0, f64::max)),
        better::lower(
            "first-paint-p50",
            "ms",
            of(|load| load.first_contentful_paint_ms)?,
        ),
        better::lower("connected-p50", "ms", of(|load| load.connected_ms)?),
    ];
    measures.extend(loads.download.map(Downloaded::goodput));
    Ok(measures)
}

fn check(load: &Load, protocol: &str, objects: usize) -> Result<(), Problem> {
    let other = load
        .objects
        .iter()
        .find(|object| object.protocol != protocol);
    if let Some(Loaded {
        name, protocol: by, ..
    }) = other
    {
        let by = if by.is_empty() {
            "an unknown protocol"
        } else {
            by
        };
        let what = format!("{name} by {protocol}: it came by {by}");
        return Err(Problem::missing(CHROMIUM, what));
    }
    if let Some(failed) = load.objects.iter().find(|object| object.status != 200) {
        let what = format!("{}: status {}", failed.name, failed.status);
        return Err(Problem::missing(CHROMIUM, what));
    }
    if load.objects.len() != objects {
        let what = format!("{objects} objects: there are {}", load.objects.len());
        return Err(Problem::missing(CHROMIUM, what));
    }
    Ok(())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let half = values.len() / 2;
    match values.len() % 2 {
        0 => Some((values.get(half.checked_sub(1)?)? + values.get(half)?) / 2.0),
        _ => values.get(half).copied(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three loads of a page between two namespaces, without a radio: three of its objects.
    const RECORDED: &str = include_str!("../../recorded/page-h3.json");

    fn value(measures: &[Measure], name: &str) -> f64 {
        let found = measures.iter().find(|measure| measure.name == name);
        found.unwrap_or_else(|| panic!("{name}")).value
    }

    #[test]
    fn recorded_loads_give_medians_and_the_download_beside_them() {
        let measures = read(RECORDED, "h3", 3).expect("readable");
        let of = |name: &str| value(&measures, name);
        assert!((of("load-p50") - 184.9).abs() < 1e-6);
        assert_eq!((of("load-max"), of("first-paint-p50")), (196.0, 168.0));
        assert!((of("connected-p50") - 6.1).abs() < 1e-6);
        assert_eq!(
            of("download-goodput"),
            8e-6 * 121_104_949.0 / 3.507_714_055_001_997_6
        );
    }

    #[test]
    fn loads_by_another_protocol_or_of_other_objects_are_errors() {
        let error = |text: &str, protocol: &str, objects: usize| {
            let error = read(text, protocol, objects).expect_err("not that");
            error.to_string()
        };
        let other = error(RECORDED, "h2", 3);
        assert!(
            other.ends_with("index.html by h2: it came by h3"),
            "{other}"
        );
        let unknown = error(&RECORDED.replacen("\"h3\"", "\"\"", 1), "h3", 3);
        assert!(
            unknown.ends_with("it came by an unknown protocol"),
            "{unknown}"
        );
        let failed = error(&RECORDED.replacen("200", "404", 1), "h3", 3);
        assert!(failed.ends_with("index.html: status 404"), "{failed}");
        let fewer = error(RECORDED, "h3", 4);
        assert!(fewer.ends_with("4 objects: there are 3"), "{fewer}");
        assert!(error("{\"loads\": []}", "h3", 3).ends_with("no load"));
        assert!(error("", "h3", 3).contains("no loads"));
    }

    #[test]
    fn medians_are_of_all_loads() {
        let times = |values: &[f64]| median(values.to_vec());
        assert_eq!(times(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(times(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(times(&[]), None);
    }
}
