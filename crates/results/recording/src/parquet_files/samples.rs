//! Every wake-up as a row of a Parquet file, for custom statistics.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use howlate_model::{Header, Wakeup};
use parquet::basic::{Compression, Encoding};
use parquet::data_type::{Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::CreateError;

/// Columns as in `docs/recording.md`.
const SCHEMA: &str = "message wake_up {
    required int32 condition (integer(32, false));
    required int32 round (integer(32, false));
    required int64 expected_ns;
    required int64 ran_ns;
}";

/// Time columns, delta encoded as they grow in small steps.
const TIMES: [&str; 2] = ["expected_ns", "ran_ns"];

/// Rows per group: 24 bytes each in memory.
const ROW_GROUP: usize = 1 << 18;

/// Key of the recording's header in the file's metadata.
const HEADER: &str = "howlate.header";

/// A Parquet file being written, readable once closed.
pub struct Samples {
    writer: SerializedFileWriter<File>,
    path: PathBuf,
    waiting: WakeupColumns,
    failed: Option<ParquetError>,
}

#[derive(Default)]
struct WakeupColumns {
    condition: Vec<i32>,
    round: Vec<i32>,
    expected: Vec<i64>,
    ran: Vec<i64>,
}

impl Samples {
    /// Creates the file with the recording's header as metadata.
    ///
    /// # Errors
    ///
    /// When the file exists, or cannot be written.
    pub fn create(path: &Path, header: &Header) -> Result<Self, CreateError> {
        let file = File::create_new(path).map_err(|source| CreateError::new(path, source))?;
        let writer = begin(file, header).map_err(|error| {
            // An empty file would block the next attempt.
            drop(std::fs::remove_file(path));
            CreateError::new(path, std::io::Error::other(error))
        })?;
        Ok(Self { writer, path: path.to_owned(), waiting: WakeupColumns::default(), failed: None })
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends the wake-ups of a turn, oldest first.
    pub fn write(&mut self, condition: u32, round: u32, wakeups: &[Wakeup]) {
        if self.failed.is_some() {
            return;
        }
        let waiting = &mut self.waiting;
        let rows = waiting.ran.len().saturating_add(wakeups.len());
        waiting.condition.resize(rows, condition.cast_signed());
        waiting.round.resize(rows, round.cast_signed());
        waiting.expected.extend(wakeups.iter().map(|wakeup| wakeup.expected.as_nanos()));
        waiting.ran.extend(wakeups.iter().map(|wakeup| wakeup.ran.as_nanos()));
        if rows >= ROW_GROUP {
            self.failed = self.flush().err();
        }
    }

    fn flush(&mut self) -> Result<(), ParquetError> {
        let rows = std::mem::take(&mut self.waiting);
        if rows.ran.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        column::<Int32Type>(&mut group, &rows.condition)?;
        column::<Int32Type>(&mut group, &rows.round)?;
        column::<Int64Type>(&mut group, &rows.expected)?;
        column::<Int64Type>(&mut group, &rows.ran)?;
        group.close().map(drop)
    }

    /// Finishes the file.
    ///
    /// # Errors
    ///
    /// When something could not be written; the file cannot be read then.
    pub fn close(mut self) -> Result<(), CreateError> {
        let flushed = match self.failed.take() {
            Some(error) => Err(error),
            None => self.flush(),
        };
        let closed = flushed.and_then(|()| self.writer.close());
        closed.map(drop).map_err(|error| CreateError::new(&self.path, std::io::Error::other(error)))
    }
}

fn begin(file: File, header: &Header) -> Result<SerializedFileWriter<File>, ParquetError> {
    let text = serde_json::to_string(header).map_err(|error| ParquetError::General(error.to_string()))?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(vec![KeyValue::new(HEADER.to_owned(), text)]));
    for time in TIMES {
        let path = ColumnPath::from(time);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    SerializedFileWriter::new(file, Arc::new(parse_message_type(SCHEMA)?), Arc::new(properties.build()))
}

fn column<T: parquet::data_type::DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reader::testing::header;
    use howlate_model::MonotonicTime;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    fn wakeup(expected: i64) -> Wakeup {
        let at = MonotonicTime::from_nanos;
        Wakeup { expected: at(expected), ran: at(expected + 7) }
    }

    #[test]
    fn what_is_written_is_read_back_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let mut samples = Samples::create(&path, &header(2)).unwrap();
        let many: Vec<Wakeup> = (0..1 << 18 | 10).map(|number| wakeup(number * 1_000)).collect();
        samples.write(0, 0, &many);
        samples.write(1, 3, &[wakeup(-5)]);
        samples.close().unwrap();

        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let metadata = reader.metadata().file_metadata().key_value_metadata().unwrap();
        assert!(
            metadata.iter().any(|pair| pair.key == HEADER && pair.value.as_ref().unwrap().contains("cyclic"))
        );
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), many.len() + 1);
        assert_eq!(rows[9].get_long(2).unwrap(), 9_000);
        let last = rows.last().unwrap();
        assert_eq!((last.get_uint(0).unwrap(), last.get_uint(1).unwrap()), (1, 3));
        assert_eq!((last.get_long(2).unwrap(), last.get_long(3).unwrap()), (-5, 2));
    }

    #[test]
    fn nothing_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        std::fs::write(&path, "precious").unwrap();
        assert!(matches!(Samples::create(&path, &header(1)), Err(CreateError::Exists { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    }
}
