//! Destination of lines: a file or a pipe.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::lock;
use crate::rewrite::folder_of;
use crate::stream::PipeStream;

#[derive(Debug)]
pub(crate) enum WriteTarget {
    File(File),
    /// A pipe or character device.
    Stream(PipeStream),
}

impl WriteTarget {
    pub(crate) fn open(path: &Path, interrupted: &Arc<AtomicBool>) -> io::Result<Self> {
        if is_stream(path) {
            return PipeStream::open(path, Arc::clone(interrupted)).map(Self::Stream);
        }
        howlate_safe_path::sweep(folder_of(path));
        let file = File::options().read(true).write(true).create_new(true).open(path)?;
        lock::lock(&file)?;
        Ok(Self::File(file))
    }

    pub(crate) fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::File(file) => file.write_all(bytes),
            Self::Stream(stream) => stream.write_all(bytes),
        }
    }
}

/// Whether `path` is a pipe or character device, from which nothing can be read back.
pub fn is_stream(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| {
        let kind = metadata.file_type();
        kind.is_fifo() || kind.is_char_device()
    })
}
