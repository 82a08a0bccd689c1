//! Files that are compressed: unpacked as they are read, or named.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use crate::error::ImportError;

/// What begins so is packed in a way that is not unpacked here; and what unpacks it.
const PACKED: [(&[u8], &str, &str); 5] = [
    (b"\x28\xb5\x2f\xfd", "zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "xz", "xzcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4cat"),
    (b"PK\x03\x04", "zip", "unzip -p"),
];

const GZIP: &[u8] = b"\x1f\x8b";

/// The input, decompressed if it is gzip.
///
/// # Errors
///
/// When it cannot be read, or is packed in another way.
pub fn unpacked(
    mut file: impl BufRead + Send + 'static,
) -> io::Result<Result<Box<dyn Read + Send>, ImportError>> {
    let start = file.fill_buf()?;
    if start.starts_with(GZIP) {
        return Ok(Ok(Box::new(MultiGzDecoder::new(file))));
    }
    let packed = PACKED.iter().find(|(sign, ..)| start.starts_with(sign));
    Ok(match packed {
        Some((_, packing, unpacks)) => Err(ImportError::Packed { packing, unpacks }),
        None => Ok(Box::new(file)),
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn read(bytes: Vec<u8>) -> io::Result<Result<String, ImportError>> {
        let mut text = String::new();
        match unpacked(io::Cursor::new(bytes))? {
            Ok(mut file) => file.read_to_string(&mut text).map(|_| Ok(text)),
            Err(packed) => Ok(Err(packed)),
        }
    }

    #[test]
    fn what_is_packed_is_unpacked_or_named() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(b"# Histogram\n").unwrap();
        let gzip = gzip.finish().unwrap();
        assert_eq!(read(gzip.clone()).unwrap().unwrap(), "# Histogram\n");
        assert_eq!(
            read([gzip.clone(), gzip.clone()].concat()).unwrap().unwrap(),
            "# Histogram\n# Histogram\n"
        );
        assert!(read(gzip[..gzip.len() - 9].to_vec()).is_err(), "cut off");
        assert_eq!(read(b"plain".to_vec()).unwrap().unwrap(), "plain");
        let zstd = read(b"\x28\xb5\x2f\xfd....".to_vec()).unwrap().unwrap_err();
        assert_eq!(zstd.remedy("a.zst").unwrap(), "`zstdcat a.zst | howlate show -`");
    }
}
