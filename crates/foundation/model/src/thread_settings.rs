//! Settings of a thread that other programs may change during a measurement.

use crate::{Caveat, CpuSet, Policy, SettingRefusal, Span};

/// Settings that affect when a thread runs, read at one time; `None` if missing or unreadable.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadSettings {
    /// Policy, priority and nice value: `chrt`, `renice`.
    pub policy: Option<Policy>,
    /// Timer slack: `/proc/PID/timerslack_ns`.
    pub slack: Option<Span>,
    /// Slice of the fair scheduler: `chrt --sched-runtime`.
    pub slice: Option<Span>,
    /// Affinity: `taskset`, or a cpuset.
    pub cpus: Option<CpuSet>,
    /// Control groups, the text of `/proc/PID/cgroup`.
    pub group: Option<String>,
}

impl ThreadSettings {
    /// Caveats for the settings that differ in `now`, which was read later.
    pub fn changes_until(&self, now: &Self) -> Vec<Caveat> {
        let policy = changed(self.policy.as_ref(), now.policy.as_ref());
        let policy = policy.map(|(began, ended)| Caveat::PolicyChanged { began: *began, ended: *ended });
        // With a policy change the kernel changes slack and slice itself.
        let same_policy = policy.is_none();
        let slack = changed(self.slack.as_ref(), now.slack.as_ref()).filter(|_| same_policy);
        let slack = slack.map(|(began, ended)| Caveat::SlackChanged { began_ns: *began, ended_ns: *ended });
        let slice = changed(self.slice.as_ref(), now.slice.as_ref()).filter(|_| same_policy);
        let slice = slice.map(|(began, ended)| Caveat::SliceChanged { began_ns: *began, ended_ns: *ended });
        let cpus = changed(self.cpus.as_ref(), now.cpus.as_ref()).map(|(began, ended)| {
            let reason = SettingRefusal::ChangedMeanwhile.into();
            Caveat::AffinityDiffers { asked: began.clone(), in_force: ended.clone(), reason }
        });
        let group = changed(self.group.as_ref(), now.group.as_ref())
            .map(|(began, ended)| Caveat::GroupChanged { began: began.clone(), ended: ended.clone() });
        [policy, slack, slice, cpus, group].into_iter().flatten().collect()
    }
}

/// Both values, if both are known and differ.
fn changed<'a, T: PartialEq>(began: Option<&'a T>, ended: Option<&'a T>) -> Option<(&'a T, &'a T)> {
    began.zip(ended).filter(|(began, ended)| began != ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn began() -> ThreadSettings {
        ThreadSettings {
            policy: Some(Policy::OTHER),
            slack: Some(Span::from_micros(50)),
            slice: Some(Span::from_millis(3)),
            cpus: Some([0, 1].into_iter().collect()),
            group: Some("0::/a".into()),
        }
    }

    #[test]
    fn each_change_is_told() {
        let now = ThreadSettings {
            policy: Some(Policy::OTHER),
            slack: Some(Span::from_nanos(1)),
            slice: Some(Span::from_millis(1)),
            cpus: Some([1].into_iter().collect()),
            group: Some("0::/b".into()),
        };
        let changes = began().changes_until(&now);
        assert!(
            matches!(
                &changes[..],
                [
                    Caveat::SlackChanged { .. },
                    Caveat::SliceChanged { .. },
                    Caveat::AffinityDiffers { .. },
                    Caveat::GroupChanged { began, ended },
                ] if began == "0::/a" && ended == "0::/b"
            ),
            "{changes:?}"
        );
        assert!(changes.iter().all(Caveat::spoils));
    }

    #[test]
    fn another_policy_brings_its_slack_and_slice() {
        let fifo = "fifo:80".parse().ok();
        let now = ThreadSettings { policy: fifo, slack: Some(Span::ZERO), slice: None, ..began() };
        assert!(matches!(&began().changes_until(&now)[..], [Caveat::PolicyChanged { .. }]));
    }

    #[test]
    fn what_cannot_be_read_has_not_changed() {
        assert_eq!(began().changes_until(&began()), []);
        assert_eq!(began().changes_until(&ThreadSettings::default()), []);
        assert_eq!(ThreadSettings::default().changes_until(&began()), []);
    }
}
