//! Whose waits are kept.

use std::str::FromStr;

use glob::Pattern;
use howlate_analyse::incidents::unit;
use howlate_model::Policy;

/// A policy without its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyName {
    /// `SCHED_OTHER`
    Other,
    /// `SCHED_FIFO`
    Fifo,
    /// `SCHED_RR`
    Rr,
    /// `SCHED_BATCH`
    Batch,
    /// `SCHED_IDLE`
    Idle,
    /// `SCHED_DEADLINE`
    Deadline,
    /// `SCHED_EXT`
    Ext,
}

impl PolicyName {
    const ALL: [(Self, u32, &'static str); 7] = [
        (Self::Other, 0, "other"),
        (Self::Fifo, 1, "fifo"),
        (Self::Rr, 2, "rr"),
        (Self::Batch, 3, "batch"),
        (Self::Idle, 5, "idle"),
        (Self::Deadline, 6, "deadline"),
        (Self::Ext, 7, "ext"),
    ];

    /// What the kernel's number stands for.
    pub(crate) fn from_kernel(number: u32) -> Option<Self> {
        Self::ALL.iter().find(|(_, of, _)| *of == number).map(|(policy, ..)| *policy)
    }

    fn of(policy: Option<Policy>) -> Option<Self> {
        let text = policy?.to_string();
        let name = text.split(':').next().unwrap_or_default();
        // A nice value stands for the ordinary policy.
        if name == "nice" { Some(Self::Other) } else { name.parse().ok() }
    }

    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.iter().find(|(of, ..)| *of == self).map_or("", |(.., name)| name)
    }
}

impl FromStr for PolicyName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(.., name)| *name == text);
        known.map(|(policy, ..)| *policy).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|(.., name)| *name).collect();
            format!("`{text}` is not a policy; write {}", names.join(", "))
        })
    }
}

/// Which threads; what is empty leaves out none.
#[derive(Clone, Debug, Default)]
pub struct Chosen {
    /// Names of processes or threads.
    pub process: Vec<Pattern>,
    /// Users, by number.
    pub uid: Vec<u32>,
    /// Policies of which threads are recorded; none means all.
    pub policy: Vec<PolicyName>,
    /// Control groups, with those below.
    pub cgroup: Vec<String>,
    /// Units of systemd.
    pub unit: Vec<String>,
}

/// Whom to decide about.
pub(crate) struct Candidate<'a> {
    /// The process, and the thread where it is one.
    pub(crate) names: &'a [&'a str],
    pub(crate) uid: u32,
    pub(crate) policy: Option<PolicyName>,
    pub(crate) group: Option<&'a str>,
}

impl Chosen {
    /// Whether this user was asked for by name.
    pub(crate) fn names(&self, uid: u32) -> bool {
        self.uid.contains(&uid)
    }

    pub(crate) fn includes(&self, one: &Candidate<'_>) -> bool {
        let any_name = |pattern: &Pattern| one.names.iter().any(|name| pattern.matches(name));
        let group = one.group.unwrap_or_default();
        (self.process.is_empty() || self.process.iter().any(any_name))
            && (self.uid.is_empty() || self.uid.contains(&one.uid))
            && (self.policy.is_empty() || one.policy.is_some_and(|policy| self.policy.contains(&policy)))
            && (self.cgroup.is_empty() || self.cgroup.iter().any(|above| is_below(group, above)))
            && (self.unit.is_empty()
                || unit(group).is_some_and(|unit| self.unit.iter().any(|one| is_unit(unit, one))))
    }
}

/// The policy of a thread that was seen.
pub(crate) fn policy_name(policy: Option<Policy>) -> Option<PolicyName> {
    PolicyName::of(policy)
}

fn is_below(group: &str, above: &str) -> bool {
    let above = above.trim_end_matches('/');
    group.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A name without an ending is a service's.
fn is_unit(found: &str, asked: &str) -> bool {
    found == asked || found.strip_suffix(".service") == Some(asked)
}

#[cfg(test)]
mod tests {
    use howlate_model::Priority;

    use super::*;

    #[test]
    fn what_is_asked_for_must_all_be_so() {
        let group = "/system.slice/nginx.service";
        let one = |names: &'static [&'static str]| Candidate {
            names,
            uid: 33,
            policy: Some(PolicyName::Other),
            group: Some(group),
        };
        let nginx = one(&["nginx", "worker"]);
        assert!(Chosen::default().includes(&nginx));
        let by = |change: fn(&mut Chosen)| {
            let mut chosen = Chosen::default();
            change(&mut chosen);
            chosen.includes(&nginx)
        };
        assert!(by(|chosen| chosen.process = vec![Pattern::new("ngi*").unwrap()]));
        assert!(by(|chosen| chosen.process = vec![Pattern::new("work?r").unwrap()]));
        assert!(!by(|chosen| chosen.process = vec![Pattern::new("java*").unwrap()]));
        assert!(by(|chosen| chosen.uid = vec![0, 33]) && !by(|chosen| chosen.uid = vec![0]));
        assert!(by(|chosen| chosen.unit = vec!["nginx".into()]));
        assert!(by(|chosen| chosen.unit = vec!["nginx.service".into()]));
        assert!(!by(|chosen| chosen.unit = vec!["nginx.scope".into()]));
        assert!(by(|chosen| chosen.cgroup = vec!["/system.slice/".into()]));
        assert!(!by(|chosen| chosen.cgroup = vec!["/system.slic".into()]));
        assert!(!by(|chosen| chosen.policy = vec![PolicyName::Fifo]));
        assert!(!by(|chosen| {
            chosen.unit = vec!["nginx".into()];
            chosen.uid = vec![0];
        }));
    }

    #[test]
    fn a_policy_is_known_by_its_name_whatever_its_parameters() {
        let fifo = Policy::Fifo { priority: Priority::USUAL };
        assert_eq!(policy_name(Some(fifo)), Some(PolicyName::Fifo));
        assert_eq!(policy_name(Some("nice:-5".parse().unwrap())), Some(PolicyName::Other));
        assert_eq!(PolicyName::from_kernel(6).map(PolicyName::name), Some("deadline"));
        assert!("fast".parse::<PolicyName>().unwrap_err().contains("write other, fifo"));
    }
}
