//! Who types what is advised: root needs no `sudo`, and others may have none.

use howlate_model::Finding;
use howlate_procfs::{Root, Status};

use super::idle::{HOLD, HOLD_APART};
use super::shell::is_by_sudo;

const SUDO: &str = "sudo ";
/// Bit of `CAP_SYS_ADMIN`. Source: `include/uapi/linux/capability.h`.
const SYS_ADMIN: u32 = 21;
/// Where shells look for it; NixOS has it elsewhere.
const PLACES: [&str; 4] = ["/usr/bin/sudo", "/bin/sudo", "/usr/local/bin/sudo", "/run/wrappers/bin/sudo"];
/// Said beside commands that only root may type.
const AS_ROOT: &str = "   # as root";
/// Before what is said beside a command.
const REMARK: &str = "   # ";

/// Whoever is to type the commands of findings.
pub(super) enum TypedBy {
    /// Commands stand as they are: with `sudo`, or where it is not known who types them.
    Anybody,
    Root,
    /// Somebody who became root by `sudo` for this command alone.
    BySudo,
    /// A user of this id who has to become root by other means.
    WithoutSudo(u32),
}

impl TypedBy {
    pub(super) fn read(root: &Root) -> Self {
        match Status::read_own(root).effective_user() {
            // A captured tree may not say who; whoever may do everything is root.
            None if Status::read_own(root).has_bit("CapEff", SYS_ADMIN) == Some(true) => Self::Root,
            None => Self::Anybody,
            Some(0) if is_by_sudo(root) => Self::BySudo,
            Some(0) => Self::Root,
            Some(_) if PLACES.iter().any(|place| root.has(place)) => Self::Anybody,
            Some(user) => Self::WithoutSudo(user),
        }
    }

    /// The commands of a finding, for this user.
    pub(super) fn alter(&self, finding: &mut Finding) {
        let Some(remedy) = &mut finding.remedy else { return };
        for commands in [&mut remedy.apply, &mut remedy.undo, &mut remedy.lasting] {
            self.alter_commands(commands);
        }
    }

    fn alter_commands(&self, commands: &mut [String]) {
        if matches!(self, Self::BySudo) {
            return commands.iter_mut().for_each(|command| *command = as_before(command));
        }
        let is_of_root = |command: &&mut String| {
            command.starts_with(SUDO) || [" sudo ", "`sudo "].iter().any(|word| command.contains(word))
        };
        for command in commands.iter_mut().filter(is_of_root) {
            match self {
                Self::Anybody | Self::BySudo => {}
                Self::Root => *command = command.replace(SUDO, ""),
                Self::WithoutSudo(user) => *command = as_root(&named(&command.replace(SUDO, ""), *user)),
            }
        }
    }
}

/// A command that this process may do, and whoever started it may not.
fn as_before(command: &str) -> String {
    if command.starts_with(HOLD) {
        return format!("{SUDO}{}", command.replacen(HOLD, HOLD_APART, 1));
    }
    let takes_rights = ["chrt ", "nice "].iter().any(|program| command.starts_with(program));
    if takes_rights { format!("{SUDO}{command}") } else { command.to_owned() }
}

/// A command that root is to type, with what is said beside it already.
fn as_root(command: &str) -> String {
    match command.split_once(REMARK) {
        // A sentence has its commands between `.
        None if command.contains('`') => format!("as root, {command}"),
        Some((command, remark)) => format!("{command}{AS_ROOT}; {remark}"),
        None => format!("{command}{AS_ROOT}"),
    }
}

/// The user by id: who asks for the name as root gets root's. A line of `limits.conf(5)` has a colon before an id.
fn named(command: &str, user: u32) -> String {
    let mut command = command
        .replace("\"$(id -un) ", &format!("\":{user} "))
        .replace("u:$(id -un):", &format!("u:{user}:"));
    // Root's shell is another.
    if command.contains("--pid $$") {
        command = command.replace("--pid $$", "--pid SHELL");
        let separator = if command.contains(REMARK) { ", " } else { REMARK };
        command.push_str(&format!("{separator}SHELL: what echo $$ says there"));
    }
    command
}

#[cfg(test)]
mod tests {
    use howlate_model::{FindingId, Verdict};

    use super::super::draft::finding;
    use super::*;

    fn typed(by: &TypedBy, steps: &[&str]) -> Vec<String> {
        let draft = finding(FindingId::Swap, Verdict::Costs, "");
        let mut finding = steps.iter().fold(draft, |draft, step| draft.apply(*step)).end();
        by.alter(&mut finding);
        finding.remedy.unwrap().apply
    }

    #[test]
    fn sudo_is_left_out_where_it_is_not_needed_or_not_there() {
        let limit = "echo \"$(id -un) - rtprio 99\" | sudo tee /etc/security/limits.d/x.conf";
        let steps = ["howlate top", limit, "sudo swapoff -a && sudo sync"];
        assert_eq!(typed(&TypedBy::Anybody, &steps), steps);
        let by_root = typed(&TypedBy::Root, &steps);
        assert_eq!(by_root[1..], [limit.replace("sudo ", ""), "swapoff -a && sync".to_owned()]);
        let program = ["chrt --fifo 80 PROGRAM …"];
        assert_eq!(typed(&TypedBy::BySudo, &program), ["sudo chrt --fifo 80 PROGRAM …"]);
        assert_eq!(typed(&TypedBy::BySudo, &steps), steps);
        let held = typed(&TypedBy::BySudo, &[HOLD]);
        assert!(held[0].starts_with("sudo sh -c 'exec 9>") && held[0].ends_with("' &"), "{held:?}");
        let without = typed(&TypedBy::WithoutSudo(65534), &steps);
        assert_eq!(without[..1], ["howlate top"]);
        assert_eq!(without[1], "echo \":65534 - rtprio 99\" | tee /etc/security/limits.d/x.conf   # as root");
        let acl = typed(&TypedBy::WithoutSudo(7), &["sudo setfacl -m u:$(id -un):rw /dev/x   # once"]);
        assert_eq!(acl, ["setfacl -m u:7:rw /dev/x   # as root; once"]);
        let shell =
            typed(&TypedBy::WithoutSudo(7), &["sudo prlimit --pid $$ --rtprio=99   # for this shell"]);
        assert_eq!(
            shell,
            ["prlimit --pid SHELL --rtprio=99   # as root; for this shell, SHELL: what echo $$ says there"]
        );
        let sentence = ["install it (`sudo apt install x`)"];
        assert_eq!(typed(&TypedBy::Root, &sentence), ["install it (`apt install x`)"]);
        assert_eq!(typed(&TypedBy::WithoutSudo(7), &sentence), ["as root, install it (`apt install x`)"]);
    }

    #[test]
    fn who_types_is_read_below_the_root() {
        let of = |files: &[(&str, &str)]| {
            let folder = howlate_testing::tree(files);
            TypedBy::read(&Root::at(folder.path()))
        };
        let user = ("proc/self/status", "Name:\tx\nUid:\t65534\t65534\t65534\t65534\n");
        assert!(matches!(of(&[]), TypedBy::Anybody));
        assert!(matches!(of(&[("proc/self/status", "Uid:\t0\t0\t0\t0\n")]), TypedBy::Root));
        assert!(matches!(of(&[user]), TypedBy::WithoutSudo(65534)));
        assert!(matches!(of(&[user, ("usr/bin/sudo", "")]), TypedBy::Anybody));
    }
}
