//! One connection: one request, one response.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use howlate_linux::clock;
use howlate_model::{MonotonicTime, Span};

use crate::authorization::Admission;
use crate::request::{LONGEST, Method, Request};
use crate::response::{ContentRequest, ContentSource, HttpResponse, Refusal};

/// Timeout of the request.
const REQUEST_TIMEOUT: Span = Span::from_secs(5);
/// Timeout of the response: a page of 3 MB over a slow line.
const RESPONSE_TIMEOUT: Span = Span::from_secs(60);
/// Timeout of the client's close.
const CLOSE_TIMEOUT: Span = Span::from_secs(1);
/// Timeout of one system call, so that Ctrl-C is noticed.
const CALL_TIMEOUT: Duration = Duration::from_millis(100);

/// Health check for monitoring. It reveals nothing and needs no token, as probes have none.
const HEALTH: &str = "/health";

struct Client<'a> {
    stream: TcpStream,
    end: &'a AtomicBool,
}

pub(crate) fn answer(stream: TcpStream, admission: &Admission, contents: &ContentSource, end: &AtomicBool) {
    let mut client = Client { stream, end };
    // Clients that left or are too slow get no error.
    drop(client.serve(admission, contents));
}

/// Refuses a connection without blocking.
pub(crate) fn refuse(mut stream: TcpStream, refusal: Refusal) {
    let response = HttpResponse::from(refusal);
    let bytes = [response.head().as_bytes(), &response.body].concat();
    drop(stream.set_nonblocking(true).and_then(|()| stream.write_all(&bytes)));
}

impl Client<'_> {
    fn serve(&mut self, admission: &Admission, contents: &ContentSource) -> io::Result<()> {
        self.stream.set_read_timeout(Some(CALL_TIMEOUT))?;
        self.stream.set_write_timeout(Some(CALL_TIMEOUT))?;
        let (response, with_body) = match self.request()? {
            Err(refusal) => (refusal.into(), true),
            Ok(request) => (response_to(&request, admission, contents), request.method != Method::Head),
        };
        let until = clock::now().plus(RESPONSE_TIMEOUT);
        self.send(response.head().as_bytes(), until)?;
        if with_body {
            self.send(&response.body, until)?;
        }
        self.hang_up()
    }

    fn request(&mut self) -> io::Result<Result<Request, Refusal>> {
        let until = clock::now().plus(REQUEST_TIMEOUT);
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
            let length = retry_until(self.end, until, || stream.write(bytes))?;
            bytes = bytes.get(length..).unwrap_or_default();
        }
        Ok(())
    }

    fn receive(&mut self, room: &mut [u8], until: MonotonicTime) -> io::Result<usize> {
        let stream = &mut self.stream;
        retry_until(self.end, until, || stream.read(room))
    }

    /// Drains further input: closing with unread data could discard the response.
    fn hang_up(&mut self) -> io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let (until, mut room) = (clock::now().plus(CLOSE_TIMEOUT), [0; 1_024]);
        while self.receive(&mut room, until)? > 0 {}
        Ok(())
    }
}

/// Retries `call` until it succeeds, the time is over, or the server ends.
fn retry_until(
    end: &AtomicBool,
    until: MonotonicTime,
    mut call: impl FnMut() -> io::Result<usize>,
) -> io::Result<usize> {
    use io::ErrorKind::{ConnectionAborted, Interrupted, TimedOut, WouldBlock};
    while clock::now() < until {
        match call() {
            Err(error) if matches!(error.kind(), WouldBlock | TimedOut | Interrupted) => {}
            result => return result,
        }
        if end.load(Ordering::Relaxed) {
            return Err(ConnectionAborted.into());
        }
    }
    Err(TimedOut.into())
}

fn response_to(request: &Request, admission: &Admission, contents: &ContentSource) -> HttpResponse {
    let is_read = request.method != Method::Other;
    match admission.admits(request) {
        _ if is_read && request.path == HEALTH => HttpResponse::healthy(),
        Err(refusal) => refusal.into(),
        Ok(()) if !is_read => Refusal::WrongMethod.into(),
        Ok(()) => {
            let Request { path, as_openmetrics, as_openmetrics2, as_protobuf, .. } = request;
            let (as_openmetrics, as_openmetrics2) = (*as_openmetrics, *as_openmetrics2);
            contents(&ContentRequest { path, as_openmetrics, as_openmetrics2, as_protobuf: *as_protobuf })
                .into()
        }
    }
}
