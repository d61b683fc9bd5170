//! Scenario files: reading them, and those that they extend.

use crate::document::{Table, Value, parse};
use crate::error::{Checked, Fault, ScenarioError, fault};
use crate::source::{Position, Sources};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Largest scenario file. (The largest of those that come with Brimful has a few kB.)
const MAX_FILE_BYTES: u64 = 1_000_000;
/// Longest chain of files that extend one another.
const MAX_CHAIN: usize = 16;

/// Where files that a text names are looked for.
#[derive(Clone, Debug)]
pub(crate) enum Folder {
    /// Here.
    Is(PathBuf),
    /// Here among files that are part of the program; empty for the topmost.
    Within(Embedded, String),
    /// Nowhere: the text is no file, and must not name any.
    None,
}

/// Files that travel with a scenario: their paths as they are looked up, and their contents.
pub(crate) type Held = Arc<BTreeMap<PathBuf, Vec<u8>>>;

/// Scenario files that are part of a program, and the traces that they name: the name of each, with
/// `/` between folders, and its text.
pub type Embedded = &'static [(&'static str, &'static str)];

/// Where the content of a file is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    /// At hand.
    Held(&'a [u8]),
    /// To be read from the disk.
    OnDisk,
    /// Not among the files that travel with the scenario, and no other is read.
    Missing,
}

/// The content of one of the files that travel with a scenario, by its path or by what is left of it without `..`.
fn in_held<'a>(held: &'a BTreeMap<PathBuf, Vec<u8>>, path: &Path) -> Option<&'a [u8]> {
    let found = held.get(path);
    let found = found.or_else(|| held.get(Path::new(&joined("", path.to_str()?))));
    found.map(Vec::as_slice)
}

/// A scenario with all that it extends laid into one document.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) root: Table,
    pub(crate) sources: Sources,
    /// For each source, where the files that it names are.
    pub(crate) folders: Vec<Folder>,
    /// The name where the file gives none.
    pub(crate) stem: String,
    /// If there are such, no other file is read.
    held: Option<Held>,
}

impl Document {
    /// The path of a file that is named at `at`, and where its content is.
    pub(crate) fn path(&self, named: &str, at: Position) -> Checked<(PathBuf, Content<'_>)> {
        match self.folders.get(at.source) {
            Some(Folder::Is(folder)) => {
                let path = folder.join(named);
                let content = self.content(&path);
                Ok((path, content))
            }
            Some(Folder::Within(files, folder)) => {
                let name = joined(folder, named);
                match text_in(files, &name) {
                    Some(text) => Ok((PathBuf::from(name), Content::Held(text.as_bytes()))),
                    None => Err(not_part(&name, at)),
                }
            }
            _ => Err(fault(
                at,
                format!("\"{named}\" is a file, and this text must not name any"),
            )
            .hint("put the text into a file of its own")),
        }
    }

    /// Where the content of a file is.
    pub(crate) fn content(&self, path: &Path) -> Content<'_> {
        match self.held.as_deref() {
            None => Content::OnDisk,
            Some(held) => in_held(held, path).map_or(Content::Missing, Content::Held),
        }
    }

    /// The files that it was read from, with their texts; nothing of a text that is no file.
    pub(crate) fn files(&self) -> impl Iterator<Item = (PathBuf, String)> {
        let sources = self.sources.texts().enumerate();
        let is_file = |source: usize| {
            let folder = self.folders.get(source);
            matches!(folder, Some(Folder::Is(_))) && !self.sources.is_option(source)
        };
        let files = sources.filter(move |(source, _)| is_file(*source));
        files.map(|(_, (name, text))| (PathBuf::from(name), text.to_owned()))
    }

    /// True if a place is in an option of the command line.
    pub(crate) fn is_option(&self, at: Position) -> bool {
        self.sources.is_option(at.source)
    }

    /// Adds an option of the command line, whose files are relative to the working directory.
    pub(crate) fn add_option(&mut self, name: String, text: String) -> usize {
        self.folders.push(Folder::Is(PathBuf::new()));
        self.sources.add_option(name, text)
    }
}

/// Reads a file and all that it extends.
pub(crate) fn file(path: &Path, held: Option<Held>) -> Result<Document, ScenarioError> {
    let name = path.display().to_string();
    let text = match read(path, held.as_ref()) {
        Ok(text) => text,
        Err(Unreadable::Io(source)) => return Err(ScenarioError::Read { path: name, source }),
        Err(Unreadable::Content {
            offset,
            before,
            what,
        }) => {
            let mut sources = Sources::default();
            let source = sources.add(name, before, None);
            return Err(fault(Position { source, offset }, what).locate(&sources));
        }
    };
    let stem = path
        .file_stem()
        .map_or("scenario".into(), |s| s.to_string_lossy().into_owned());
    load(name, text, folder_of(path), stem, held)
}

/// Reads a text as if it were a file of this name in the working directory.
pub(crate) fn text(name: &str, text: &str, held: Option<Held>) -> Result<Document, ScenarioError> {
    load(
        name.to_owned(),
        text.to_owned(),
        Folder::Is(PathBuf::new()),
        "scenario".to_owned(),
        held,
    )
}

/// Reads one of the files that are part of the program, and all that it extends among them.
pub(crate) fn embedded(files: Embedded, name: &str) -> Result<Document, ScenarioError> {
    let Some(text) = text_in(files, name) else {
        return Err(ScenarioError::Read {
            path: name.to_owned(),
            source: std::io::ErrorKind::NotFound.into(),
        });
    };
    let file = name.rsplit('/').next().unwrap_or(name);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let folder = folder_within(files, name);
    let (name, text) = (name.to_owned(), text.to_owned());
    load(name, text, folder, stem.to_owned(), None)
}

/// Reads a text that is no file.
pub(crate) fn string(text: &str) -> Result<Document, ScenarioError> {
    load(
        "<text>".to_owned(),
        text.to_owned(),
        Folder::None,
        "scenario".to_owned(),
        None,
    )
}

fn load(
    name: String,
    text: String,
    folder: Folder,
    stem: String,
    held: Option<Held>,
) -> Result<Document, ScenarioError> {
    let mut document = Document {
        root: Table::default(),
        sources: Sources::default(),
        folders: Vec::new(),
        stem,
        held,
    };
    match add(
        &mut document,
        Opened { name, text, folder },
        None,
        &mut Vec::new(),
    ) {
        Ok(root) => {
            document.root = root;
            Ok(document)
        }
        Err(fault) => Err(fault.locate(&document.sources)),
    }
}

/// A text with its name.
struct Opened {
    name: String,
    text: String,
    folder: Folder,
}

impl Opened {
    /// The same for all names of one file.
    fn identity(&self) -> PathBuf {
        let path = PathBuf::from(&self.name);
        match self.folder {
            Folder::Within(..) => path,
            _ => path.canonicalize().unwrap_or(path),
        }
    }
}

/// Opens the file that is named at an `extends`.
fn open_extended(document: &mut Document, base: &str, at: Position) -> Checked<Opened> {
    if let Some(Folder::Within(files, folder)) = document.folders.get(at.source) {
        let files = *files;
        let name = joined(folder, base);
        let Some(text) = text_in(files, &name) else {
            return Err(not_part(&name, at));
        };
        return Ok(Opened {
            text: text.to_owned(),
            folder: folder_within(files, &name),
            name,
        });
    }
    let (path, _) = document.path(base, at)?;
    let text =
        read(&path, document.held.as_ref()).map_err(|e| unreadable(document, &path, e, at))?;
    Ok(Opened {
        name: path.display().to_string(),
        text,
        folder: folder_of(&path),
    })
}

/// Parses one file, then those that it extends, and lays it upon them. `chain` holds the files from
/// the first one down to this one's parent.
fn add(
    document: &mut Document,
    opened: Opened,
    extended_by: Option<usize>,
    chain: &mut Vec<PathBuf>,
) -> Checked<Table> {
    let source = document
        .sources
        .add(opened.name.clone(), opened.text.clone(), extended_by);
    let above = opened.identity();
    document.folders.push(opened.folder);
    let mut table = parse(&opened.text, source)?;
    let Some(extends) = table.remove("extends") else {
        return Ok(table);
    };
    let at = extends.node.at;
    let Value::String(base) = &extends.node.value else {
        return Err(fault(at, format!("\"extends\" is {}", extends.node.kind()))
            .allowed("expected the name of a file, in quotes"));
    };
    let below = open_extended(document, base, at)?;
    chain.push(above);
    if chain.contains(&below.identity()) {
        let names: Vec<String> = chain.iter().map(|p| p.display().to_string()).collect();
        return Err(fault(
            at,
            format!("\"{base}\" extends itself, through {}", names.join(", ")),
        )
        .hint("remove one \"extends\" of the circle"));
    }
    if chain.len() >= MAX_CHAIN {
        return Err(fault(
            at,
            format!("more than {MAX_CHAIN} files extend one another"),
        ));
    }
    let mut merged = add(document, below, Some(source), chain)?;
    merged.merge(table);
    Ok(merged)
}

/// A fault about a file that is extended: at the `extends` if it cannot be opened, inside it if its
/// content is wrong.
fn unreadable(document: &mut Document, path: &Path, error: Unreadable, at: Position) -> Box<Fault> {
    match error {
        Unreadable::Io(error) => fault(
            at,
            format!(
                "the extended file \"{}\" cannot be read: {error}",
                path.display()
            ),
        )
        .hint("the path is relative to the file that extends it"),
        Unreadable::Content {
            offset,
            before,
            what,
        } => {
            document.folders.push(Folder::None);
            let name = path.display().to_string();
            let source = document.sources.add(name, before, Some(at.source));
            fault(Position { source, offset }, what)
        }
    }
}

fn not_part(name: &str, at: Position) -> Box<Fault> {
    fault(at, format!("no file \"{name}\" is part of the program"))
}

fn folder_of(path: &Path) -> Folder {
    Folder::Is(path.parent().map(Path::to_owned).unwrap_or_default())
}

fn text_in(files: Embedded, name: &str) -> Option<&'static str> {
    let found = files.iter().find(|(file, _)| *file == name);
    found.map(|(_, text)| *text)
}

fn folder_within(files: Embedded, name: &str) -> Folder {
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    Folder::Within(files, folder.to_owned())
}

/// A name that is relative to a folder, both with `/` between their parts.
fn joined(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Why a file gives no text.
enum Unreadable {
    Io(std::io::Error),
    /// It is no text, or too long.
    Content {
        /// The text before the fault.
        before: String,
        offset: usize,
        what: String,
    },
}

fn read(path: &Path, held: Option<&Held>) -> Result<String, Unreadable> {
    if let Some(held) = held {
        let missing = || Unreadable::Io(std::io::ErrorKind::NotFound.into());
        return checked_text(in_held(held, path).ok_or_else(missing)?.to_vec());
    }
    let file = std::fs::File::open(path).map_err(Unreadable::Io)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(Unreadable::Io)?;
    checked_text(bytes)
}

/// The text of a file that is neither too large nor something else.
fn checked_text(bytes: Vec<u8>) -> Result<String, Unreadable> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let what = format!(
            "larger than {} MB: no scenario file",
            MAX_FILE_BYTES / 1_000_000
        );
        return Err(Unreadable::Content {
            before: String::new(),
            offset: 0,
            what,
        });
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        let bytes = error.into_bytes();
        let byte = bytes.get(offset).copied().unwrap_or_default();
        Unreadable::Content {
            before: String::from_utf8_lossy(&bytes[..offset]).into_owned(),
            offset,
            what: format!("the byte 0x{byte:02x} is no UTF-8 text: no scenario file"),
        }
    })
}
