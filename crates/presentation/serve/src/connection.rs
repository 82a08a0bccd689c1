//! One connection: a request, an answer, the end.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::authorization::Admission;
use crate::request::{LONGEST, Method, Request};
use crate::response::{Contents, Refusal, Sent, Wanted};

/// How long a request may take to come.
const TO_ASK: Span = Span::from_secs(5);
/// How long an answer may take to be read: a page of 3 MB over a slow line.
const TO_READ: Span = Span::from_secs(60);
/// How long a client may take to hang up.
const TO_LEAVE: Span = Span::from_secs(1);
/// How long one call waits, so that Ctrl-C is seen.
const A_WHILE: Duration = Duration::from_millis(100);

/// Where those who look after servers ask whether this one is alive. It says nothing else, so everybody is answered: what probes a
/// port does not know its token.
const HEALTH: &str = "/health";

/// A client, and how long it still has.
struct Client<'a> {
    stream: TcpStream,
    end: &'a AtomicBool,
}

/// Answers whoever has connected.
pub(crate) fn answer(stream: TcpStream, admission: &Admission, contents: &Contents, end: &AtomicBool) {
    let mut client = Client { stream, end };
    // One that left, or is too slow, is not told.
    drop(client.converse(admission, contents));
}

/// Sends one away; what does not go at once is lost.
pub(crate) fn refuse(mut stream: TcpStream, refusal: Refusal) {
    let sent = Sent::from(refusal);
    let bytes = [sent.head().as_bytes(), &sent.body].concat();
    drop(stream.set_nonblocking(true).and_then(|()| stream.write_all(&bytes)));
}

impl Client<'_> {
    fn converse(&mut self, admission: &Admission, contents: &Contents) -> io::Result<()> {
        self.stream.set_read_timeout(Some(A_WHILE))?;
        self.stream.set_write_timeout(Some(A_WHILE))?;
        let (sent, with_body) = match self.request()? {
            Err(refusal) => (refusal.into(), true),
            Ok(request) => (answered(&request, admission, contents), request.method != Method::Head),
        };
        let until = clock::now().plus(TO_READ);
        self.send(sent.head().as_bytes(), until)?;
        if with_body {
            self.send(&sent.body, until)?;
        }
        self.hang_up()
    }

    /// What the client asks for.
    fn request(&mut self) -> io::Result<Result<Request, Refusal>> {
        let until = clock::now().plus(TO_ASK);
        let (mut head, mut room) = (Vec::new(), [0; 1_024]);
        loop {
            match self.receive(&mut room, until) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(length) => head.extend_from_slice(&room[..length]),
                Err(error) if error.kind() == io::ErrorKind::TimedOut => return Ok(Err(Refusal::TooSlow)),
                Err(error) => return Err(error),
            }
            head.truncate(LONGEST);
            match Request::read(&head) {
                Ok(None) => {}
                Ok(Some(request)) => return Ok(Ok(request)),
                Err(refusal) => return Ok(Err(refusal)),
            }
        }
    }

    fn send(&mut self, mut bytes: &[u8], until: MonotonicTime) -> io::Result<()> {
        while !bytes.is_empty() {
            let stream = &mut self.stream;
            let length = patiently(self.end, until, || stream.write(bytes))?;
            bytes = bytes.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8], until: MonotonicTime) -> io::Result<usize> {
        let stream = &mut self.stream;
        patiently(self.end, until, || stream.read(room))
    }

    /// Takes what else was sent: closed before, the answer could be lost with it.
    fn hang_up(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let (until, mut room) = (clock::now().plus(TO_LEAVE), [0; 1_024]);
        while self.receive(&mut room, until)? > 0 {}
        Ok(())
    }
}

/// Calls until something comes of it, the time is over or the server is.
fn patiently(
    end: &AtomicBool,
    until: MonotonicTime,
    mut call: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    use io::ErrorKind::{ConnectionAborted, Interrupted, TimedOut, WouldBlock};
    while clock::now() < until {
        match call() {
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
            done => return done,
        }
        if end.load(Ordering::Relaxed) {
            return Err(ConnectionAborted.into());
        }
    }
    Err(TimedOut.into())
}

fn answered(request: &Request, admission: &Admission, contents: &Contents) -> Sent {
    let is_read = request.method != Method::Other;
    match admission.admits(request) {
        _ if is_read && request.path == HEALTH => Sent::healthy(),
        Err(refusal) => refusal.into(),
        Ok(()) if !is_read => Refusal::NotToRead.into(),
        Ok(()) => {
            let Request { path, as_openmetrics, as_openmetrics2, as_protobuf, .. } = request;
            let (as_openmetrics, as_openmetrics2) = (*as_openmetrics, *as_openmetrics2);
            contents(&Wanted { path, as_openmetrics, as_openmetrics2, as_protobuf: *as_protobuf }).into()
        }
    }
}
