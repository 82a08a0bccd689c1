//! `softirq`: packets that the network's softirq hands to many receivers.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;

use howlate_linux::{clock, usage};
use howlate_model::{InjectedCause, MonotonicInterval, Span};
use howlate_procfs::{Kernel, Root};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::task::{InjectorReport, PreparedTask, sleep_until, with_reason};

/// Sockets that receive each packet within one softirq. None is read, so that their buffers fill and each only rejects the packet: 400 of them
/// take 27 µs on a fast CPU (Linux 6.18), too short for a hit. More would come near the usual limit of 1024 descriptors.
const RECEIVERS: usize = 900;
/// A packet that takes longer would be interrupted by the measured thread's timer each time, and the end of its softirq would be unknown: an
/// emulated CPU needs milliseconds for so many receivers.
const LONGEST: Span = Span::from_micros(900);
/// Packets by which the duration is measured.
const TRIALS: usize = 5;
/// A multicast group within one machine. Source: RFC 2365, section 6.1 (239.255.0.0/16 is local scope).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 107, 1);

pub(crate) fn prepare(mut cause: InjectedCause) -> io::Result<PreparedTask> {
    if Kernel::is_realtime(&Root::live()) {
        return Err(io::Error::other(
            "on PREEMPT_RT a softirq gives way to the thread that it would keep waiting",
        ));
    }
    let (receivers, to) =
        receivers().map_err(|error| with_reason("the loopback device cannot be used", &error))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sockopt::set_ip_multicast_if(&sender, &Ipv4Addr::LOCALHOST)?;
    let receivers = limit_receivers(receivers, || median_duration(&sender, to))?;
    Ok(Box::new(move |window| {
        sleep_until(window.start);
        let mut sent = Vec::new();
        while sent.last().is_none_or(|last: &SentPacket| last.stamp.until < window.end) {
            let switches = usage::of_this_thread().involuntary_switches;
            let from = clock::now();
            sender.send_to(&[0], to)?;
            let stamp = MonotonicInterval { from, until: clock::now() };
            let lost_cpu = usage::of_this_thread().involuntary_switches != switches;
            sent.push(SentPacket { stamp, lost_cpu });
        }
        drop(receivers);
        cause.stamps = softirq_stamps(sent);
        Ok(InjectorReport { cause: Some(cause), ..InjectorReport::default() })
    }))
}

struct SentPacket {
    stamp: MonotonicInterval,
    /// Whether another thread got the CPU before the clock was read again: the softirq had ended by then.
    lost_cpu: bool,
}

/// When the softirq ran. Where another thread followed on the CPU, its end is unknown: it is assumed to be no longer than the median of the
/// others, so that the time of that thread is not attributed to the softirq.
fn softirq_stamps(sent: Vec<SentPacket>) -> Vec<MonotonicInterval> {
    let lasted = |packet: &SentPacket| packet.stamp.until.since(packet.stamp.from);
    let mut undisturbed: Vec<Span> = sent.iter().filter(|packet| !packet.lost_cpu).map(lasted).collect();
    undisturbed.sort_unstable();
    let usual = undisturbed.get(undisturbed.len() / 2).copied().unwrap_or(Span::ZERO);
    let stamp = |packet: SentPacket| {
        let most = if packet.lost_cpu { packet.stamp.from.plus(usual) } else { packet.stamp.until };
        MonotonicInterval { from: packet.stamp.from, until: packet.stamp.until.min(most) }
    };
    sent.into_iter().map(stamp).collect()
}

/// Halves the receivers until a packet takes no longer than `LONGEST`.
fn limit_receivers<Receiver>(
    mut receivers: Vec<Receiver>,
    median_duration: impl Fn() -> io::Result<Span>,
) -> io::Result<Vec<Receiver>> {
    while receivers.len() > 1 && median_duration()? > LONGEST {
        receivers.truncate(receivers.len() / 2);
    }
    Ok(receivers)
}

/// Median duration of a packet.
fn median_duration(sender: &UdpSocket, to: SocketAddrV4) -> io::Result<Span> {
    let mut durations = [Span::ZERO; TRIALS];
    for duration in &mut durations {
        let from = clock::now();
        sender.send_to(&[0], to)?;
        *duration = clock::now().since(from);
    }
    durations.sort_unstable();
    Ok(durations[TRIALS / 2])
}

/// Sockets that all receive what is sent to one address.
fn receivers() -> io::Result<(Vec<OwnedFd>, SocketAddrV4)> {
    let first = receiver(0)?;
    let port = SocketAddrV4::try_from(rustix::net::getsockname(&first)?)?.port();
    let further = (1..RECEIVERS).map(|_| receiver(port)).collect::<io::Result<Vec<_>>>()?;
    Ok((std::iter::once(first).chain(further).collect(), SocketAddrV4::new(GROUP, port)))
}

fn receiver(port: u16) -> io::Result<OwnedFd> {
    let socket = socket_with(AddressFamily::INET, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &SocketAddrV4::new(GROUP, port))?;
    sockopt::set_ip_add_membership(&socket, &GROUP, &Ipv4Addr::LOCALHOST)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use howlate_model::MonotonicTime;

    use super::*;

    fn sent(from: i64, until: i64, lost_cpu: bool) -> SentPacket {
        let at = MonotonicTime::from_nanos;
        SentPacket { stamp: MonotonicInterval { from: at(from), until: at(until) }, lost_cpu }
    }

    #[test]
    fn a_slow_machine_has_fewer_receivers() {
        let with = |each: Span| {
            let times = std::cell::Cell::new(900u64);
            let median_duration = || {
                let now = times.get();
                times.set(now / 2);
                Ok(Span::from_nanos(each.as_nanos() * now))
            };
            limit_receivers(vec![(); 900], median_duration).unwrap().len()
        };
        assert_eq!(with(Span::from_nanos(70)), 900, "63 µs");
        assert_eq!(with(Span::from_nanos(3_000)), 225, "2.7 ms, then half of it, …");
        assert_eq!(with(Span::from_millis(1)), 1);
    }

    #[test]
    fn what_another_thread_had_is_not_the_softirqs() {
        // 0    100  200  300  400
        // |----|----|----|----|
        // |NET_RX|  |NET_RX|other |     70 each
        let stamps = softirq_stamps(vec![sent(0, 70, false), sent(100, 170, false), sent(200, 400, true)]);
        let ends: Vec<i64> = stamps.iter().map(|stamp| stamp.until.as_nanos()).collect();
        assert_eq!(ends, [70, 170, 270]);
        // A short one is not extended.
        let stamps = softirq_stamps(vec![sent(0, 70, false), sent(100, 120, true)]);
        assert_eq!(stamps[1].until.as_nanos(), 120);
        // Where no end is known, no time is attributed.
        assert_eq!(softirq_stamps(vec![sent(0, 70, true)])[0].until.as_nanos(), 0);
    }
}
