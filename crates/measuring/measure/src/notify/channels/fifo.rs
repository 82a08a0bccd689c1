//! `fifo(7)`: a pipe with a name, which is gone as soon as both ends are open.

use std::io;

use howlate_safe_path::TemporaryFolder;
use rustix::fs::{FileType, Mode, OFlags, fcntl_setfl, mknodat, open};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

pub(crate) struct Fifo;

impl Channel for Fifo {
    type Sender = Writing;
    type Receiver = Reading;

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

    fn receiver(endpoint: Endpoint) -> io::Result<Reading> {
        Reading::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Writing> {
        Writing::new(endpoint)
    }
}
