//! `pipe(2)` and `fifo(7)`.

use std::io;

use howlate_safe_path::TemporaryFolder;
use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, mknodat, open};
use rustix::pipe::{PipeFlags, pipe_with};

use super::descriptor::{ReadEnd, WriteEnd};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

pub(crate) struct PipeChannel;

impl Channel for PipeChannel {
    type Sender = WriteEnd;
    type Receiver = ReadEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Endpoints::new(writing, reading))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<ReadEnd> {
        ReadEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<WriteEnd> {
        WriteEnd::new(endpoint)
    }
}

/// A pipe with a name, which is removed as soon as both ends are open.
pub(crate) struct FifoChannel;

impl Channel for FifoChannel {
    type Sender = WriteEnd;
    type Receiver = ReadEnd;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let folder = TemporaryFolder::create()?;
        let path = folder.path().join("fifo");
        mknodat(rustix::fs::CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Without NONBLOCK, opening one end would wait for the other.
        let reading = open(&path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
        let writing = open(&path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
        fcntl_setfl(&reading, OFlags::empty())?;
        Ok(Endpoints::new(writing, reading))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<ReadEnd> {
        ReadEnd::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<WriteEnd> {
        WriteEnd::new(endpoint)
    }
}
