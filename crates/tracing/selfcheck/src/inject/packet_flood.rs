//! `softirq`: packets that the network's softirq hands to many receivers.

use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::OwnedFd;

use howlate_linux::{clock, usage};
use howlate_model::{InjectedCause, MonotonicInterval, Span};
use howlate_procfs::{Kernel, Root};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};

use super::request::InjectorReport;
use super::work::{Work, reason, sleep_until};

/// Sockets that each packet is handed to, one after the other, within one softirq. Nobody reads them, so that soon each only
/// refuses it: 27 µs for 400 of them on a fast CPU (Linux 6.18), which would be too short for a hit. More would come near to
/// the 1024 descriptors that a process usually may have.
const RECEIVERS: usize = 900;
/// A packet that takes longer would be interrupted by the measured thread's timer each time, so that nobody knew when its softirq
/// ended: an emulated CPU needs milliseconds for so many receivers.
const LONGEST: Span = Span::from_micros(900);
/// Packets by which that is found out.
const TRIED: usize = 5;
/// A group within one machine. Source: RFC 2365, section 6.1 (239.255.0.0/16 is local scope).
const GROUP: Ipv4Addr = Ipv4Addr::new(239, 255, 107, 1);

pub(crate) fn prepare(mut known: InjectedCause) -> io::Result<Work> {
    if Kernel::is_realtime(&Root::live()) {
        return Err(io::Error::other(
            "on PREEMPT_RT a softirq gives way to the thread that it would keep waiting",
        ));
    }
    let (receivers, to) =
        receivers().map_err(|error| reason("the loopback device cannot be used", &error))?;
    let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
    sockopt::set_ip_multicast_if(&sender, &Ipv4Addr::LOCALHOST)?;
    let receivers = thinned(receivers, || lasts(&sender, to))?;
    Ok(Box::new(move |stretch| {
        sleep_until(stretch.start);
        let mut sent = Vec::new();
        while sent.last().is_none_or(|last: &Sent| last.stamp.until < stretch.end) {
            let switches = usage::of_this_thread().involuntary_switches;
            let from = clock::now();
            sender.send_to(&[0], to)?;
            let stamp = MonotonicInterval { from, until: clock::now() };
            let lost_cpu = usage::of_this_thread().involuntary_switches != switches;
            sent.push(Sent { stamp, lost_cpu });
        }
        drop(receivers);
        known.stamps = of_the_softirq(sent);
        Ok(InjectorReport { known: Some(known), ..InjectorReport::default() })
    }))
}

/// A packet that was sent.
struct Sent {
    stamp: MonotonicInterval,
    /// Whether another thread got the CPU before the clock was read again: the softirq was over by then.
    lost_cpu: bool,
}

/// When the softirq was at it. Of those that end with another thread on the CPU it is not known when the softirq ended: it is
/// taken to have lasted no longer than half of the others, so that what that thread had is not taken for the softirq's.
fn of_the_softirq(sent: Vec<Sent>) -> Vec<MonotonicInterval> {
    let lasted = |one: &Sent| one.stamp.until.since(one.stamp.from);
    let mut undisturbed: Vec<Span> = sent.iter().filter(|one| !one.lost_cpu).map(lasted).collect();
    undisturbed.sort_unstable();
    let usual = undisturbed.get(undisturbed.len() / 2).copied().unwrap_or(Span::ZERO);
    let stamp = |one: Sent| {
        let most = if one.lost_cpu { one.stamp.from.plus(usual) } else { one.stamp.until };
        MonotonicInterval { from: one.stamp.from, until: one.stamp.until.min(most) }
    };
    sent.into_iter().map(stamp).collect()
}

/// As many of them as a packet can be handed to in time, by how long one `lasts`.
fn thinned<Receiver>(
    mut receivers: Vec<Receiver>,
    lasts: impl Fn() -> io::Result<Span>,
) -> io::Result<Vec<Receiver>> {
    while receivers.len() > 1 && lasts()? > LONGEST {
        receivers.truncate(receivers.len() / 2);
    }
    Ok(receivers)
}

/// How long a packet takes, at the median.
fn lasts(sender: &UdpSocket, to: SocketAddrV4) -> io::Result<Span> {
    let mut all = [Span::ZERO; TRIED];
    for one in &mut all {
        let from = clock::now();
        sender.send_to(&[0], to)?;
        *one = clock::now().since(from);
    }
    all.sort_unstable();
    Ok(all[TRIED / 2])
}

/// Sockets that all receive what is sent to one address.
fn receivers() -> io::Result<(Vec<OwnedFd>, SocketAddrV4)> {
    let first = receiver(0)?;
    let port = SocketAddrV4::try_from(rustix::net::getsockname(&first)?)?.port();
    let others = (1..RECEIVERS).map(|_| receiver(port)).collect::<io::Result<Vec<_>>>()?;
    Ok((std::iter::once(first).chain(others).collect(), SocketAddrV4::new(GROUP, port)))
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

    fn sent(from: i64, until: i64, lost_cpu: bool) -> Sent {
        let at = MonotonicTime::from_nanos;
        Sent { stamp: MonotonicInterval { from: at(from), until: at(until) }, lost_cpu }
    }

    #[test]
    fn a_slow_machine_has_fewer_receivers() {
        let with = |each: Span| {
            let times = std::cell::Cell::new(900u64);
            let lasts = || {
                let now = times.get();
                times.set(now / 2);
                Ok(Span::from_nanos(each.as_nanos() * now))
            };
            thinned(vec![(); 900], lasts).unwrap().len()
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
        let stamps = of_the_softirq(vec![sent(0, 70, false), sent(100, 170, false), sent(200, 400, true)]);
        let ends: Vec<i64> = stamps.iter().map(|one| one.until.as_nanos()).collect();
        assert_eq!(ends, [70, 170, 270]);
        // One that was over sooner was no longer for it.
        let stamps = of_the_softirq(vec![sent(0, 70, false), sent(100, 120, true)]);
        assert_eq!(stamps[1].until.as_nanos(), 120);
        // Where none is known to its end, none is claimed.
        assert_eq!(of_the_softirq(vec![sent(0, 70, true)])[0].until.as_nanos(), 0);
    }
}
