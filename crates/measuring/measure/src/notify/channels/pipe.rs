//! `pipe(2)`.

use std::io;

use rustix::pipe::{PipeFlags, pipe_with};

use super::descriptor::{Reading, Writing};
use crate::notify::channel::{Channel, Endpoint, Endpoints};
use crate::notify::shared::Direction;

pub(crate) struct Pipe;

impl Channel for Pipe {
    type Sender = Writing;
    type Receiver = Reading;

    fn make(_: &Direction) -> io::Result<Endpoints> {
        let (reading, writing) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Endpoints::new(writing, reading))
    }

    fn receiver(endpoint: Endpoint) -> io::Result<Reading> {
        Reading::new(endpoint)
    }

    fn sender(endpoint: Endpoint) -> io::Result<Writing> {
        Writing::new(endpoint)
    }
}
