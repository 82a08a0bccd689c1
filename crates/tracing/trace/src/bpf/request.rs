//! Programs that see requests to servers, and their records, laid out in `bpf/record.h`.

use aya::maps::Array;
use aya::programs::fentry::FEntryLinkId;
use aya::programs::fexit::FExitLinkId;
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{FEntry, ProgramError};
use aya::{Btf, Ebpf};
use howlate_model::{Request, RequestNumber, ServerSocket, TracerRefusal};

use crate::fields::FieldReader;
use crate::loading::{damaged, fexit, not_loaded, refusal, tracepoint};

/// Length of a record; no other record has it.
const LENGTH: usize = 48;
/// The address family of the Unix domain, `AF_UNIX`.
const UNIX: u32 = 1;

const NUMBERS: [RequestNumber; 3] = [RequestNumber::One, RequestNumber::More, RequestNumber::Http2];

/// Programs and their events: a connection comes, a thread starts.
const EVERYWHERE: [(&str, &str); 2] =
    [("is_established", "inet_sock_set_state"), ("starts", "sched_wakeup_new")];
/// Programs and their events, since Linux 6.3.
const AT_EVENTS: [(&str, &str); 3] = [
    ("data_arrives", "sk_data_ready"),
    ("data_is_read", "sock_recv_length"),
    ("data_is_sent", "sock_send_length"),
];
/// Before, programs at the start of a kernel function, and that function,
const AT_START: [(&str, &str); 3] = [
    ("readable", "sock_def_readable"),
    ("tcp_is_sent", "tcp_sendmsg"),
    ("unix_is_sent", "unix_stream_sendmsg"),
];
/// and the same at its end.
const AT_END: [(&str, &str); 2] = [("tcp_is_read", "tcp_recvmsg"), ("unix_is_read", "unix_stream_recvmsg")];

/// Where the programs are attached.
#[derive(Clone, Copy, PartialEq)]
enum Places {
    Events,
    Functions,
}

/// The programs; attached only on request, as they run for all connections of the machine.
#[derive(Default)]
pub(super) struct RequestPrograms {
    loaded: Option<Places>,
    at_events: Vec<(&'static str, BtfTracePointLinkId)>,
    at_start: Vec<(&'static str, FEntryLinkId)>,
    at_end: Vec<(&'static str, FExitLinkId)>,
}

impl RequestPrograms {
    /// Loads them, to be attached with the others.
    pub(super) fn load(&mut self, kernel: &mut Ebpf) -> Result<(), TracerRefusal> {
        let types = Btf::from_sys_fs().map_err(|_| TracerRefusal::NoTypes)?;
        load_at(&EVERYWHERE, kernel, &types)?;
        self.loaded = match load_at(&AT_EVENTS, kernel, &types) {
            Ok(()) => Some(Places::Events),
            Err(TracerRefusal::EventMissing { .. }) => {
                load_at_functions(kernel, &types)?;
                Some(Places::Functions)
            }
            Err(refused) => return Err(refused),
        };
        let settings = kernel.map_mut(".data.requests").ok_or_else(|| damaged(".data.requests"))?;
        let mut settings: Array<_, u64> =
            Array::try_from(settings).map_err(|error| refusal("map its settings", &error))?;
        settings.set(0, 1, 0).map_err(|error| refusal("take its settings", &error))
    }

    pub(super) fn attach(&mut self, kernel: &mut Ebpf) -> Result<(), TracerRefusal> {
        let refused = |error: ProgramError| refusal("attach its programs", &error);
        let events: &[_] = if self.loaded == Some(Places::Events) { &AT_EVENTS } else { &[] };
        let everywhere: &[_] = if self.loaded.is_some() { &EVERYWHERE } else { &[] };
        for (name, _) in everywhere.iter().chain(events) {
            self.at_events.push((name, tracepoint(kernel, name)?.attach().map_err(refused)?));
        }
        if self.loaded == Some(Places::Functions) {
            for (name, _) in AT_START {
                self.at_start.push((name, fentry(kernel, name)?.attach().map_err(refused)?));
            }
            for (name, _) in AT_END {
                self.at_end.push((name, fexit(kernel, name)?.attach().map_err(refused)?));
            }
        }
        Ok(())
    }

    pub(super) fn detach(&mut self, kernel: &mut Ebpf) {
        // A program that is already detached is no error.
        for (name, link) in self.at_events.drain(..) {
            drop(tracepoint(kernel, name).map(|program| program.detach(link)));
        }
        for (name, link) in self.at_start.drain(..) {
            drop(fentry(kernel, name).map(|program| program.detach(link)));
        }
        for (name, link) in self.at_end.drain(..) {
            drop(fexit(kernel, name).map(|program| program.detach(link)));
        }
    }
}

fn load_at(
    programs: &[(&'static str, &'static str)],
    kernel: &mut Ebpf,
    types: &Btf,
) -> Result<(), TracerRefusal> {
    for (name, event) in programs {
        let program = tracepoint(kernel, name)?;
        program.load(event, types).map_err(|error| not_loaded(event, &error))?;
    }
    Ok(())
}

fn load_at_functions(kernel: &mut Ebpf, types: &Btf) -> Result<(), TracerRefusal> {
    for (name, function) in AT_START {
        let program = fentry(kernel, name)?;
        program.load(function, types).map_err(|error| not_loaded(function, &error))?;
    }
    for (name, function) in AT_END {
        let program = fexit(kernel, name)?;
        program.load(function, types).map_err(|error| not_loaded(function, &error))?;
    }
    Ok(())
}

fn fentry<'a>(kernel: &'a mut Ebpf, name: &'static str) -> Result<&'a mut FEntry, TracerRefusal> {
    let program = kernel.program_mut(name).ok_or_else(|| damaged(name))?;
    program.try_into().map_err(|_| damaged(name))
}

/// `None`: another kind of record.
pub(super) fn parse(bytes: &[u8]) -> Option<Request> {
    if bytes.len() != LENGTH {
        return None;
    }
    let mut fields = FieldReader(bytes);
    let (arrived, taken, answered) = (fields.optional_time()?, fields.time()?, fields.time()?);
    let (tid, reader) = (fields.u32()?, fields.u32()?);
    let (family, port) = (fields.u32()?, fields.u32()?);
    let socket = if family == UNIX { ServerSocket::Unix } else { ServerSocket::Port(port.try_into().ok()?) };
    let (number, accepted) = (*NUMBERS.get(fields.u32()? as usize)?, fields.u32()? != 0);
    Some(Request { tid, reader, arrived, taken, answered, socket, accepted, number })
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;
    use crate::layout::BtfTypes;

    fn record(arrived: u64, family: u64, several: u64) -> Vec<u8> {
        let layouts = BtfTypes::of("wakeups");
        let mut record = layouts.record("request");
        let numbers = [
            ("arrived", arrived),
            ("taken", 20),
            ("answered", 30),
            ("tid", 7),
            ("reader", 8),
            ("family", family),
            ("port", 6_379),
            ("several", several),
            ("accepted", 1),
        ];
        numbers.iter().for_each(|(field, number)| record.set(field, *number));
        record.bytes()
    }

    #[test]
    fn a_record_is_read_field_by_field() {
        let at = MonotonicTime::from_nanos;
        let request = parse(&record(10, 2, 0)).unwrap();
        let expected = Request {
            tid: 7,
            reader: 8,
            arrived: Some(at(10)),
            taken: at(20),
            answered: at(30),
            socket: ServerSocket::Port(6_379),
            accepted: true,
            number: RequestNumber::One,
        };
        assert_eq!(request, expected);
        let request = parse(&record(0, 1, 2)).unwrap();
        assert_eq!(
            (request.arrived, request.socket, request.number),
            (None, ServerSocket::Unix, RequestNumber::Http2)
        );
    }

    #[test]
    fn what_is_cut_short_is_no_record() {
        let bytes = record(10, 2, 0);
        assert_eq!((parse(&bytes[..40]), parse(&[0; 56]), parse(&record(10, 2, 3))), (None, None, None));
    }
}
