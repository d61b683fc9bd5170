//! Part files of the dataset: written under another name first, and read whole before they are accepted.

use crate::columns;
use crate::error::{Error, io_error};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// Points of a block, which is a folder.
pub(crate) const BLOCK: u64 = 4096;

/// The path of a part in the folder of its table.
pub(crate) fn path(table: &Path, block: u64, number: u64) -> PathBuf {
    table
        .join(format!("block={block:04}"))
        .join(format!("part-{number:08}.parquet"))
}

/// Writes a part; it has its name when it is whole.
pub(crate) fn write(path: &Path, schema: &SchemaRef, batches: &[RecordBatch]) -> Result<(), Error> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(io_error("making the folder", folder))?;
    let hidden = hidden(path);
    let fill = || -> Result<(), ParquetError> {
        let file = File::create(&hidden)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .build();
        let mut writer = ArrowWriter::try_new(&file, schema.clone(), Some(properties))?;
        for batch in batches {
            writer.write(batch)?;
        }
        writer.close()?;
        file.sync_all()?;
        Ok(())
    };
    let filled = fill().map_err(source);
    let named = filled.and_then(|()| fs::rename(&hidden, path));
    if named.is_err() {
        // the folder may be full: what was begun is of no use
        let _ = fs::remove_file(&hidden);
    }
    named.map_err(io_error("writing", path))
}

fn source(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(source) => *source,
            Err(inner) => io::Error::other(inner.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

/// The name of a part that is no part: readers of datasets pass over it.
pub(crate) fn hidden(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}"))
}

/// The name of the threads that read parts. A panic on one of them is contained here: a program that aborts at
/// panics excludes these threads.
pub const READER_THREAD: &str = "sweep-reader";

/// The points of a part, each once, after every value in it has been read; what is wrong with it
/// otherwise. It is read on a thread of its own: the reader of Parquet panics on some damaged files.
pub(crate) fn points(path: &Path, schema: &SchemaRef) -> Result<Vec<u64>, String> {
    std::thread::scope(|scope| {
        let reader = std::thread::Builder::new().name(READER_THREAD.to_owned());
        let reader = reader.spawn_scoped(scope, || points_here(path, schema));
        let reader = reader.map_err(|error| error.to_string())?;
        let panicked = |_| "it is no Parquet file, or damaged".to_owned();
        reader.join().map_err(panicked)?
    })
}

fn points_here(path: &Path, schema: &SchemaRef) -> Result<Vec<u64>, String> {
    let read = || -> Result<Vec<u64>, Box<dyn core::error::Error>> {
        let file = File::open(path)?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
        if builder.schema().fields() != schema.fields() {
            return Err("it has other columns".into());
        }
        let mut found = Vec::new();
        for batch in builder.build()? {
            let batch = batch?;
            found.extend(columns::points(&batch).ok_or("it has no points")?);
        }
        found.dedup();
        Ok(found)
    };
    read().map_err(|error| error.to_string())
}

/// A part that was found: its block, its number and its path.
pub(crate) struct Found {
    pub(crate) block: u64,
    pub(crate) number: u64,
    pub(crate) path: PathBuf,
}

/// The parts in the folder of a table, by their numbers; what was left half written is put away.
pub(crate) fn list(table: &Path) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for folder in entries(table)? {
        let Some(block) = number(&folder, "block=", "") else {
            continue;
        };
        for path in entries(&folder)? {
            if let Some(number) = number(&path, "part-", ".parquet") {
                found.push(Found {
                    block,
                    number,
                    path,
                });
            } else if number(&path, ".part-", ".parquet").is_some() {
                fs::remove_file(&path).map_err(io_error("removing", &path))?;
            }
        }
    }
    found.sort_by_key(|part| part.number);
    Ok(found)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = || io_error("reading the folder", folder);
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(failed()(error)),
        Ok(entries) => entries
            .map(|entry| entry.map(|entry| entry.path()).map_err(failed()))
            .collect(),
    }
}

fn number(path: &Path, before: &str, after: &str) -> Option<u64> {
    let name = path.file_name()?.to_str()?;
    let digits = name.strip_prefix(before)?.strip_suffix(after)?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::UInt64Array;
    use arrow_schema::{DataType, Field, Schema};
    use std::sync::Arc;

    /// On some of these the reader panics: that is an error like any other.
    #[test]
    fn no_damage_to_a_part_is_more_than_an_error() {
        let place = tempfile::tempdir().expect("a folder");
        let path = path(place.path(), 0, 0);
        let field = |name| Field::new(name, DataType::UInt64, false);
        let schema = Arc::new(Schema::new(vec![field("point"), field("value")]));
        let column = || Arc::new(UInt64Array::from_iter_values(0..40)) as _;
        let batch = RecordBatch::try_new(schema.clone(), vec![column(), column()]);
        write(&path, &schema, &[batch.expect("columns")]).expect("written");
        let expected: Vec<u64> = (0..40).collect();
        assert_eq!(points(&path, &schema).as_ref(), Ok(&expected));
        let whole = fs::read(&path).expect("there");
        let mut errors = 0;
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] = [0, 0x7f, 0xff][at % 3];
            fs::write(&path, &bytes).expect("damaged");
            errors += usize::from(points(&path, &schema).is_err());
            fs::write(&path, &whole[..at]).expect("cut");
            assert!(points(&path, &schema).is_err(), "{at} bytes");
        }
        assert!(errors > 0);
    }
}
