//! `pipe(2)`.

use std::io;

use rustix::pipe::{PipeFlags, pipe_with};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Ends, Kit};
use crate::notify::lane::Lane;

pub(crate) struct Pipe;

impl Channel for Pipe {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Lane) -> io::Result<Ends> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Ends::of(writing, reading))
    }

    fn receiver(kit: Kit) -> io::Result<Reading> {
        Reading::new(kit)
    }

    fn sender(kit: Kit) -> io::Result<Writing> {
        Writing::new(kit)
    }
}
