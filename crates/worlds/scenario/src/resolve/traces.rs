//! The files of traces: which they are, and what has been read of them.

use super::Context;
use crate::document::Node;
use crate::error::{Checked, fault, trace_fault};
use crate::load::Content;
use crate::reader::Reader;
use crate::resolved::ResolvedValue;
use crate::source::Position;
use radio::trace::{CellParameters, MAX_FILE, Playback, ReadOptions, Trace};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Traces that have been read: each file once, however many users and points use it.
#[derive(Default)]
pub(crate) struct Traces {
    read: Vec<(PathBuf, ReadOptions, Arc<Trace>)>,
    /// What has been played on a cell to see whether it can be.
    played: Vec<(Arc<Trace>, Playback, CellParameters)>,
    /// The trace of the command line for users' channels.
    pub(crate) downlink: Instead,
    /// That for the cell's uplink.
    pub(crate) uplink: Instead,
    /// The offset of the command line.
    pub(crate) offset: Option<Node>,
    /// A trace took the offset of the command line.
    pub(crate) offset_used: bool,
    /// Of cells that have one each, which no trace of the command line replaces.
    of_cells: Instead,
}

/// A trace of the command line.
#[derive(Default)]
pub(crate) struct Instead {
    /// The file, and where it is named.
    pub(crate) given: Option<(PathBuf, Position)>,
    /// Something took it.
    pub(crate) used: bool,
}

/// What a trace drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Users' channels.
    Downlink,
    /// The cell's uplink.
    Uplink,
    /// One of several cells.
    Cell,
}

/// A trace's file.
pub(super) struct TraceFile<'a> {
    pub(super) path: PathBuf,
    /// Its content, or where that is.
    content: Content<'a>,
    /// Where it is named.
    pub(super) at: Position,
}

/// The trace's file: that of the command line if there is one, else the scenario's.
pub(super) fn file<'a>(
    cx: &mut Context<'a>,
    reader: &mut Reader<'_>,
    role: Role,
) -> Checked<TraceFile<'a>> {
    let document = cx.document;
    let instead = cx.traces.instead_mut(role);
    let file = if let Some((path, at)) = instead.given.clone() {
        instead.used = true;
        let content = document.content(&path);
        TraceFile { path, content, at }
    } else {
        instead.used |= role == Role::Cell;
        let named = reader.text("file")?;
        let at = reader.place("file");
        let (path, content) = document.path(&named, at)?;
        TraceFile { path, content, at }
    };
    let name = file.path.display().to_string();
    reader.put("file", ResolvedValue::Text(name));
    Ok(file)
}

impl Traces {
    /// The files that traces were read from.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.read.iter().map(|(path, _, _)| path.as_path())
    }

    /// Each of several cells has a trace.
    pub(crate) fn has_cells(&self) -> bool {
        self.of_cells.used
    }

    /// The trace of the command line for this role.
    pub(super) fn instead(&self, role: Role) -> &Instead {
        match role {
            Role::Downlink => &self.downlink,
            Role::Uplink => &self.uplink,
            Role::Cell => &self.of_cells,
        }
    }

    fn instead_mut(&mut self, role: Role) -> &mut Instead {
        match role {
            Role::Downlink => &mut self.downlink,
            Role::Uplink => &mut self.uplink,
            Role::Cell => &mut self.of_cells,
        }
    }

    /// A trace, read once.
    pub(super) fn get(
        &mut self,
        file: &TraceFile<'_>,
        options: ReadOptions,
    ) -> Checked<Arc<Trace>> {
        let TraceFile { path, content, at } = file;
        let earlier = self
            .read
            .iter()
            .find(|(p, o, _)| p == path && *o == options);
        if let Some((_, _, trace)) = earlier {
            return Ok(Arc::clone(trace));
        }
        let name = path.display().to_string();
        let content = match content {
            Content::Held(content) => Ok(content.to_vec()),
            Content::OnDisk if path.is_dir() => {
                return Err(
                    fault(*at, format!("the trace \"{name}\" is a folder")).hint(
                        "--trace of run, compare and sweep takes a folder of traces; elsewhere name one of its files",
                    ),
                );
            }
            Content::OnDisk => bytes(path),
            Content::Missing => Err(std::io::ErrorKind::NotFound.into()),
        };
        let bytes = content.map_err(|error| {
            let what = format!("the trace \"{name}\" cannot be read: {error}");
            // as the command line names it, so it is
            let mut given = [&self.downlink, &self.uplink].into_iter();
            match given.any(|it| it.given.as_ref().is_some_and(|(given, _)| given == path)) {
                true => fault(*at, what),
                false => {
                    fault(*at, what).hint("a path in a scenario file is relative to that file")
                }
            }
        })?;
        let trace = radio::trace::read(&name, &bytes, &options).map_err(|e| trace_fault(*at, e))?;
        let trace = Arc::new(trace);
        self.read.push((path.clone(), options, Arc::clone(&trace)));
        Ok(trace)
    }

    /// That a trace can be played on a cell.
    pub(super) fn check(
        &mut self,
        trace: &Arc<Trace>,
        playback: &Playback,
        cell: CellParameters,
        at: Position,
    ) -> Checked<()> {
        let is_same =
            |(t, p, c): &(_, Playback, _)| Arc::ptr_eq(t, trace) && p == playback && *c == cell;
        if self.played.iter().any(is_same) {
            return Ok(());
        }
        match trace.channel(playback, &cell) {
            Ok(_) => {
                self.played
                    .push((Arc::clone(trace), playback.clone(), cell));
                Ok(())
            }
            Err(error) => Err(fault(at, error.to_string())),
        }
    }
}

/// The content of a trace's file.
pub(crate) fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // one byte more than is read as a trace, so that the reader can report that it is too large
    std::fs::File::open(path)?
        .take(MAX_FILE.get() + 1)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
