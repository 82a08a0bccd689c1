//! The folder of a fleet: what is sent, what came back, and who takes part.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::files::{PLAN, PROGRAM, SCRIPT};
use crate::placement::FleetPods;
use crate::slurm_options::SlurmOptions;
use crate::{FleetError, Host, NodeStatus, NodeTask, node_script, recorder_archive};

/// The description of the fleet.
const DESCRIPTION: &str = "fleet.json";

/// Who takes part in a fleet, and in what.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fleet {
    /// Unique: letters and digits.
    pub id: String,
    /// The value of `--on`.
    pub on: String,
    /// SHA-256 of the program that is sent, hexadecimal; `None` where nodes have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// What `uname -m` says where the program runs, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
    /// What each node does.
    #[serde(default, skip_serializing_if = "NodeTask::is_plan")]
    pub task: NodeTask,
    /// Options of the task.
    #[serde(rename = "words")]
    pub arguments: Vec<String>,
    /// Number of parallel connections.
    pub at_once: u16,
    /// How long a node may take, in seconds; as long as it takes if `None`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_s: Option<u64>,
    /// What the pods of one on Kubernetes are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pods: Option<FleetPods>,
    /// Options of `sbatch`.
    #[serde(default, skip_serializing_if = "SlurmOptions::is_nothing")]
    pub slurm: SlurmOptions,
    /// The nodes, in the order in which they were named.
    pub members: Vec<FleetMember>,
    /// Where it is; absolute.
    #[serde(skip)]
    pub folder: PathBuf,
}

/// A node of a fleet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetMember {
    /// The machine, as its scheduler reaches it.
    #[serde(flatten)]
    pub host: Host,
    /// What the scheduler calls its job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job: Option<String>,
    /// How it ended, once nothing more is to be fetched; or why it could not be started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<NodeStatus>,
}

impl FleetMember {
    /// What it is called in files and recordings: its address, with letters that a path does not take replaced.
    pub fn name(&self) -> String {
        let letter = |letter: char| {
            if letter.is_ascii_alphanumeric() || "._-@".contains(letter) { letter } else { '_' }
        };
        self.host.address.chars().map(letter).collect()
    }

    /// The arguments of the script.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let labels =
            self.host.labels.iter().flat_map(|(key, value)| ["--label".to_owned(), format!("{key}={value}")]);
        std::iter::once(self.name()).chain(labels).collect()
    }
}

impl Fleet {
    /// Checks that there are nodes, with different names.
    ///
    /// # Errors
    ///
    /// When there is none, or two have one name.
    pub fn check(&self) -> Result<(), FleetError> {
        let mut names = BTreeSet::new();
        match self.members.iter().map(FleetMember::name).find(|name| !names.insert(name.clone())) {
            Some(name) => Err(FleetError::Twice { name }),
            None if names.is_empty() => Err(FleetError::NoNodes { where_: self.on.clone() }),
            None => Ok(()),
        }
    }

    /// The hash of what is sent.
    pub(crate) fn hash(&self) -> &str {
        self.sha256.as_deref().unwrap_or_default()
    }

    /// What each of its nodes runs.
    pub fn script(&self) -> String {
        node_script(&self.id, self.hash(), self.machine.as_deref(), self.task, &self.arguments)
    }

    /// Makes the folder, and puts into it what is sent: the plan, if there is one, and `program` with the script where there is one.
    ///
    /// # Errors
    ///
    /// When there is a fleet already, or a file cannot be written.
    pub fn create(mut self, program: Option<&Path>, plan: Option<&str>) -> Result<Self, FleetError> {
        fs::create_dir_all(&self.folder).map_err(FleetError::file(&self.folder))?;
        self.folder = self.folder.canonicalize().map_err(FleetError::file(&self.folder))?;
        if self.path(DESCRIPTION).exists() {
            return Err(FleetError::Exists { path: self.folder });
        }
        if let Some(plan) = plan {
            self.write(PLAN, plan)?;
        }
        if let Some(program) = program {
            let sent = self.path(PROGRAM);
            fs::copy(program, &sent).map_err(FleetError::file(program))?;
            fs::set_permissions(&sent, fs::Permissions::from_mode(0o755)).map_err(FleetError::file(&sent))?;
            self.write(SCRIPT, &self.script())?;
        }
        self.save()?;
        Ok(self)
    }

    fn write(&self, name: &str, text: &str) -> Result<(), FleetError> {
        let path = self.path(name);
        fs::write(&path, text).map_err(FleetError::file(&path))
    }

    /// The fleet that a folder holds.
    ///
    /// # Errors
    ///
    /// When it holds none.
    pub fn open(folder: &Path) -> Result<Self, FleetError> {
        /// No list of nodes is longer.
        const MOST: u64 = 64 << 20;
        let none = |reason: String| FleetError::NoFleet { path: folder.to_owned(), reason };
        let mut text = String::new();
        let file = File::open(folder.join(DESCRIPTION)).map_err(|error| none(error.to_string()))?;
        file.take(MOST).read_to_string(&mut text).map_err(|error| none(error.to_string()))?;
        let fleet: Self = serde_json::from_str(&text).map_err(|error| none(error.to_string()))?;
        let folder = folder.canonicalize().map_err(|error| none(error.to_string()))?;
        if let Some(wrong) = fleet.members.iter().find(|member| member.host.address.parse::<Host>().is_err())
        {
            return Err(none(format!("`{}` is no host", wrong.host.address)));
        }
        // Of Slurm `17_3`, of Kubernetes `howlate-f1-1/0`: nothing that a program would take for an option.
        let is_job = |job: &str| {
            job.starts_with(|first: char| first.is_ascii_alphanumeric())
                && job.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-/".contains(letter))
        };
        if let Some(job) = fleet.members.iter().filter_map(|one| one.job.as_deref()).find(|job| !is_job(job))
        {
            return Err(none(format!("`{job}` is no job")));
        }
        let is_word =
            |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_alphanumeric());
        if !is_word(&fleet.id) || !fleet.sha256.as_deref().is_none_or(is_word) {
            return Err(none("its id or its hash is none".to_owned()));
        }
        if let Some(wrong) = fleet.machine.as_deref().filter(|machine| !is_machine(machine)) {
            return Err(none(format!("`{wrong}` is no machine")));
        }
        Ok(Self { folder, ..fleet })
    }

    /// Writes its description, as a whole or not at all.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn save(&self) -> Result<(), FleetError> {
        let path = self.path(DESCRIPTION);
        let write = || {
            let mut new = tempfile::NamedTempFile::new_in(&self.folder)?;
            serde_json::to_writer_pretty(&mut new, self)?;
            new.write_all(b"\n")?;
            new.persist(&path).map_err(|error| error.error)?;
            Ok(())
        };
        write().map_err(FleetError::file(&path))
    }

    /// A file of the fleet.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where the recording of a node is, once it was fetched: a file, or the folder of a recorder.
    pub fn recording(&self, node: usize) -> PathBuf {
        let name = self.members[node].name();
        match self.task {
            NodeTask::Plan => self.path(&format!("{name}.jsonl")),
            NodeTask::Record => self.path(&name),
        }
    }

    /// Puts what a node has left, a file of its own in the fleet's folder, where the others are.
    pub(crate) fn keep(&self, node: usize, left: &Path) -> std::io::Result<()> {
        let place = self.recording(node);
        match self.task {
            NodeTask::Plan => fs::rename(left, place),
            NodeTask::Record => recorder_archive::keep(left, &place),
        }
    }

    /// The nodes of which more is to be expected.
    pub fn open_nodes(&self) -> Vec<usize> {
        (0..self.members.len()).filter(|node| self.members[*node].ended.is_none()).collect()
    }
}

/// Whether `uname -m` may say it: letters, digits, `_`, `-` and `.`, in 64 bytes at most (`__NEW_UTS_LEN` of utsname(2)).
fn is_machine(text: &str) -> bool {
    const LONGEST: usize = 64;
    let is_letter = |letter: u8| letter.is_ascii_alphanumeric() || b"_-.".contains(&letter);
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fleet(folder: &Path, hosts: &str) -> Fleet {
        let hosts = Host::list(hosts).unwrap();
        Fleet {
            id: "f1".into(),
            on: "ssh:n1".into(),
            sha256: Some("abc".into()),
            machine: Some("x86_64".into()),
            task: NodeTask::Plan,
            arguments: Vec::new(),
            at_once: 2,
            timeout_s: None,
            pods: None,
            slurm: SlurmOptions::default(),
            members: hosts.into_iter().map(|host| FleetMember { host, ..FleetMember::default() }).collect(),
            folder: folder.to_owned(),
        }
    }

    #[test]
    fn a_fleet_is_a_folder_that_can_be_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut made =
            fleet(folder.path(), "n1,root@n2").create(Some(Path::new("/proc/self/exe")), None).unwrap();
        made.members[1].ended = Some(NodeStatus::Done { status: 3 });
        made.save().unwrap();
        let again = Fleet::open(folder.path()).unwrap();
        assert_eq!((again.members.clone(), again.open_nodes()), (made.members.clone(), vec![0]));
        assert_eq!(again.recording(1).file_name().unwrap(), "root@n2.jsonl");
        assert!(matches!(
            made.create(Some(Path::new("/proc/self/exe")), None),
            Err(FleetError::Exists { .. })
        ));
        let text = fs::read_to_string(folder.path().join(DESCRIPTION)).unwrap();
        for (found, hostile) in [
            ("root@n2", "-oProxyCommand=x"),
            ("\"f1\"", "\"../x\""),
            ("\"abc\"", "\"a; b\""),
            ("x86_64", "$(reboot)"),
            ("x86_64", ""),
        ] {
            fs::write(folder.path().join(DESCRIPTION), text.replace(found, hostile)).unwrap();
            assert!(matches!(Fleet::open(folder.path()), Err(FleetError::NoFleet { .. })), "{hostile}");
        }
    }

    #[test]
    fn nodes_that_files_cannot_tell_apart_are_refused() {
        let folder = Path::new("/nowhere");
        assert!(fleet(folder, "n1,n2").check().is_ok());
        for twice in ["n1,n2,n1", "a:1,a_1"] {
            assert!(matches!(fleet(folder, twice).check(), Err(FleetError::Twice { .. })), "{twice}");
        }
    }
}
