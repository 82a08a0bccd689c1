//! Waits of the threads of each group, and requests to each server, all minutes together.

use std::collections::BTreeMap;

use howlate_model::{Distribution, OmittedAnswers, RequestCounts, WaitCounts};

use super::Grouping;

/// All waits of one group.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupWaits {
    pub name: String,
    /// Number of late waits.
    pub late: u64,
    /// All waits, late or not.
    pub waits: Distribution,
}

/// The waits of these minutes by group: most late waits first, then the longest wait.
pub fn waits_by_group<'a>(
    counts: impl Iterator<Item = &'a WaitCounts>,
    by: Grouping,
    users: &BTreeMap<u32, String>,
) -> Vec<GroupWaits> {
    let mut all: BTreeMap<String, (u64, Distribution)> = BTreeMap::new();
    for count in counts {
        let name = by.group_of(&count.process, count.group.as_deref(), count.uid, users);
        let (late, waits) = all.entry(name).or_default();
        *late = late.saturating_add(count.late);
        waits.merge(&count.waits);
    }
    in_order(all)
}

/// The requests of these minutes by program and server, in the same order: for `waits`, how long each took. Also the answers that are not
/// among them.
pub fn requests_by_server<'a>(
    counts: impl Iterator<Item = &'a RequestCounts>,
) -> (Vec<GroupWaits>, OmittedAnswers) {
    let mut all: BTreeMap<String, (u64, Distribution)> = BTreeMap::new();
    let mut omitted = OmittedAnswers::default();
    for count in counts {
        let (late, requests) = all.entry(server_name(count)).or_default();
        *late = late.saturating_add(count.late);
        requests.merge(&count.requests);
        omitted.merge(&count.omitted);
    }
    (in_order(all), omitted)
}

/// `nginx, port 80`
pub(super) fn server_name(counts: &RequestCounts) -> String {
    format!("{}, {}", counts.process, counts.server)
}

/// Most late ones first, then the longest.
fn in_order(all: BTreeMap<String, (u64, Distribution)>) -> Vec<GroupWaits> {
    let mut groups: Vec<GroupWaits> =
        all.into_iter().map(|(name, (late, waits))| GroupWaits { name, late, waits }).collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.late, group.waits.max())));
    groups
}

#[cfg(test)]
mod tests {
    use howlate_model::{Latency, ServerSocket};

    use super::*;

    #[test]
    fn minutes_are_added_up_by_what_is_asked_for() {
        let count = |process: &str, late: u64, waits: &[i64]| {
            let mut distribution = Distribution::default();
            waits.iter().for_each(|ns| distribution.record(Latency::from_nanos(*ns)));
            let (process, policy) = (process.to_owned(), "other".to_owned());
            WaitCounts { process, uid: 7, group: None, policy, late, waits: distribution }
        };
        let minutes =
            [count("a", 0, &[5, 6]), count("b", 0, &[900]), count("c", 2, &[3]), count("a", 0, &[7])];
        let found = waits_by_group(minutes.iter(), Grouping::Process, &BTreeMap::new());
        let rows: Vec<_> = found.iter().map(|group| (group.name.as_str(), group.waits.count())).collect();
        assert_eq!(rows, [("c", 1), ("b", 1), ("a", 3)]);
        let found = waits_by_group(minutes.iter(), Grouping::User, &BTreeMap::new());
        assert_eq!((found.len(), found[0].late, found[0].waits.count()), (1, 2, 5));
    }

    #[test]
    fn requests_are_added_up_by_program_and_server() {
        let count = |server: ServerSocket, late: u64, http2: u64| {
            let mut requests = Distribution::default();
            requests.record(Latency::from_nanos(5));
            let omitted = OmittedAnswers { http2, ..OmittedAnswers::default() };
            RequestCounts { process: "nginx".to_owned(), server, late, requests, omitted }
        };
        let minutes = [
            count(ServerSocket::Port(80), 0, 1),
            count(ServerSocket::Unix, 2, 0),
            count(ServerSocket::Port(80), 1, 3),
        ];
        let (found, omitted) = requests_by_server(minutes.iter());
        let rows: Vec<_> = found.iter().map(|row| (row.name.as_str(), row.late, row.waits.count())).collect();
        assert_eq!(rows, [("nginx, Unix sockets", 2, 1), ("nginx, port 80", 1, 2)]);
        assert_eq!(omitted, OmittedAnswers { http2: 4, ..OmittedAnswers::default() });
    }
}
