//! Writes a table of any columns as Parquet.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::{ColumnValues, TableColumn};
use crate::CreateError;

/// Writes a new file; all columns have the same number of rows.
///
/// # Errors
///
/// When the file exists, or cannot be written; then there is none.
pub fn write_table(path: &Path, columns: &[TableColumn]) -> Result<(), CreateError> {
    let file = File::create_new(path).map_err(|source| CreateError::new(path, source))?;
    write_rows(file, columns).map_err(|error| {
        drop(std::fs::remove_file(path));
        CreateError::new(path, std::io::Error::other(error))
    })
}

fn write_rows(file: File, columns: &[TableColumn]) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let schema = Arc::new(parse_message_type(&schema(columns))?);
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in columns {
        match values {
            ColumnValues::Numbers(numbers) => column::<Int64Type, _>(&mut group, numbers, |number| *number)?,
            ColumnValues::Texts(texts) => {
                column::<ByteArrayType, _>(&mut group, texts, |text| ByteArray::from(text.as_str()))?;
            }
        }
    }
    group.close()?;
    writer.close().map(drop)
}

fn schema(columns: &[TableColumn]) -> String {
    let field = |(name, values): &TableColumn| match values {
        ColumnValues::Numbers(_) => format!("optional int64 {name};\n"),
        ColumnValues::Texts(_) => format!("optional binary {name} (UTF8);\n"),
    };
    format!("message table {{\n{}}}", columns.iter().map(field).collect::<String>())
}

/// Writes non-null values and the definition levels.
fn column<T: DataType, V>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    rows: &[Option<V>],
    value: impl Fn(&V) -> T::T,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("the schema has fewer columns".to_owned());
    let values: Vec<T::T> = rows.iter().flatten().map(value).collect();
    let definition_levels: Vec<i16> = rows.iter().map(|row| i16::from(row.is_some())).collect();
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<T>().write_batch(&values, Some(&definition_levels), None)?;
    column.close()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};

    use super::*;

    #[test]
    fn rows_are_read_back_with_what_they_have_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        let columns = [
            ("name".to_owned(), ColumnValues::Texts(vec![Some("µ".to_owned()), None])),
            ("latency_ns".to_owned(), ColumnValues::Numbers(vec![None, Some(-7)])),
        ];
        write_table(&path, &columns).unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let rows: Vec<String> =
            reader.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string()).collect();
        assert_eq!(rows, ["{name: \"µ\", latency_ns: null}", "{name: null, latency_ns: -7}"]);
        assert!(
            matches!(write_table(&path, &columns), Err(CreateError::Exists { .. })),
            "nothing is written over"
        );
    }
}
