//! Adapts commands to the user who will type them: root needs no `sudo`, and other users may not have it.

use howlate_model::Finding;
use howlate_procfs::{Root, Status};

use super::idle::{HOLD, HOLD_IN_BACKGROUND};
use super::shell::is_started_by_sudo;

const SUDO: &str = "sudo ";
/// Bit of `CAP_SYS_ADMIN`. Source: `include/uapi/linux/capability.h`.
const SYS_ADMIN: u32 = 21;
/// Paths of `sudo`; the last one on NixOS.
const SUDO_PATHS: [&str; 4] = ["/usr/bin/sudo", "/bin/sudo", "/usr/local/bin/sudo", "/run/wrappers/bin/sudo"];
/// The remark after commands that only root may run.
const AS_ROOT: &str = "   # as root";
/// The start of a remark after a command.
const REMARK_START: &str = "   # ";

/// The user who types the commands of findings.
pub(super) enum CommandUser {
    /// A user with `sudo`, or an unknown one: commands stay as they are.
    WithSudo,
    Root,
    /// This process was started with `sudo`; the user is not root.
    StartedWithSudo,
    /// A user without `sudo`, by id.
    WithoutSudo(u32),
}

impl CommandUser {
    pub(super) fn read(root: &Root) -> Self {
        match Status::read_own(root).effective_user() {
            // A captured tree may lack the user id; a process with `CAP_SYS_ADMIN` is taken for root's.
            None if Status::read_own(root).has_bit("CapEff", SYS_ADMIN) == Some(true) => Self::Root,
            None => Self::WithSudo,
            Some(0) if is_started_by_sudo(root) => Self::StartedWithSudo,
            Some(0) => Self::Root,
            Some(_) if SUDO_PATHS.iter().any(|place| root.has(place)) => Self::WithSudo,
            Some(user) => Self::WithoutSudo(user),
        }
    }

    /// Changes the commands of a finding for this user.
    pub(super) fn adapt(&self, finding: &mut Finding) {
        let Some(remedy) = &mut finding.remedy else { return };
        for commands in [&mut remedy.apply, &mut remedy.undo, &mut remedy.lasting] {
            self.adapt_commands(commands);
        }
    }

    fn adapt_commands(&self, commands: &mut [String]) {
        if matches!(self, Self::StartedWithSudo) {
            return commands.iter_mut().for_each(|command| *command = sudo_command(command));
        }
        let has_sudo = |command: &&mut String| {
            command.starts_with(SUDO) || [" sudo ", "`sudo "].iter().any(|word| command.contains(word))
        };
        for command in commands.iter_mut().filter(has_sudo) {
            match self {
                Self::WithSudo | Self::StartedWithSudo => {}
                Self::Root => *command = command.replace(SUDO, ""),
                Self::WithoutSudo(user) => {
                    *command = mark_as_root(&insert_user(&command.replace(SUDO, ""), *user))
                }
            }
        }
    }
}

/// Adds `sudo` to a command that this process may run, and the user who started it may not.
fn sudo_command(command: &str) -> String {
    if command.starts_with(HOLD) {
        return format!("{SUDO}{}", command.replacen(HOLD, HOLD_IN_BACKGROUND, 1));
    }
    let needs_privileges = ["chrt ", "nice "].iter().any(|program| command.starts_with(program));
    if needs_privileges { format!("{SUDO}{command}") } else { command.to_owned() }
}

/// Adds the remark that root runs the command, before a remark that it already has.
fn mark_as_root(command: &str) -> String {
    match command.split_once(REMARK_START) {
        // In a sentence, commands are quoted by backticks.
        None if command.contains('`') => format!("as root, {command}"),
        Some((command, remark)) => format!("{command}{AS_ROOT}; {remark}"),
        None => format!("{command}{AS_ROOT}"),
    }
}

/// Replaces `$(id -un)`, which is root in root's shell, by the id of the user; `limits.conf(5)` has a colon before an id.
fn insert_user(command: &str, user: u32) -> String {
    let mut command = command
        .replace("\"$(id -un) ", &format!("\":{user} "))
        .replace("u:$(id -un):", &format!("u:{user}:"));
    // `$$` would be root's shell.
    if command.contains("--pid $$") {
        command = command.replace("--pid $$", "--pid SHELL");
        let separator = if command.contains(REMARK_START) { ", " } else { REMARK_START };
        command.push_str(&format!("{separator}SHELL: what echo $$ says there"));
    }
    command
}

#[cfg(test)]
mod tests {
    use howlate_model::{FindingId, Verdict};

    use super::super::draft::finding;
    use super::*;

    fn commands_for(user: &CommandUser, steps: &[&str]) -> Vec<String> {
        let draft = finding(FindingId::Swap, Verdict::Costs, "");
        let mut finding = steps.iter().fold(draft, |draft, step| draft.apply(*step)).finish();
        user.adapt(&mut finding);
        finding.remedy.unwrap().apply
    }

    #[test]
    fn sudo_is_left_out_where_it_is_not_needed_or_not_there() {
        let limit = "echo \"$(id -un) - rtprio 99\" | sudo tee /etc/security/limits.d/x.conf";
        let steps = ["howlate top", limit, "sudo swapoff -a && sudo sync"];
        assert_eq!(commands_for(&CommandUser::WithSudo, &steps), steps);
        let by_root = commands_for(&CommandUser::Root, &steps);
        assert_eq!(by_root[1..], [limit.replace("sudo ", ""), "swapoff -a && sync".to_owned()]);
        let program = ["chrt --fifo 80 PROGRAM …"];
        assert_eq!(commands_for(&CommandUser::StartedWithSudo, &program), ["sudo chrt --fifo 80 PROGRAM …"]);
        assert_eq!(commands_for(&CommandUser::StartedWithSudo, &steps), steps);
        let hold = commands_for(&CommandUser::StartedWithSudo, &[HOLD]);
        assert!(hold[0].starts_with("sudo sh -c 'exec 9>") && hold[0].ends_with("' &"), "{hold:?}");
        let without = commands_for(&CommandUser::WithoutSudo(65534), &steps);
        assert_eq!(without[..1], ["howlate top"]);
        assert_eq!(without[1], "echo \":65534 - rtprio 99\" | tee /etc/security/limits.d/x.conf   # as root");
        let acl =
            commands_for(&CommandUser::WithoutSudo(7), &["sudo setfacl -m u:$(id -un):rw /dev/x   # once"]);
        assert_eq!(acl, ["setfacl -m u:7:rw /dev/x   # as root; once"]);
        let shell = commands_for(
            &CommandUser::WithoutSudo(7),
            &["sudo prlimit --pid $$ --rtprio=99   # for this shell"],
        );
        assert_eq!(
            shell,
            ["prlimit --pid SHELL --rtprio=99   # as root; for this shell, SHELL: what echo $$ says there"]
        );
        let sentence = ["install it (`sudo apt install x`)"];
        assert_eq!(commands_for(&CommandUser::Root, &sentence), ["install it (`apt install x`)"]);
        assert_eq!(
            commands_for(&CommandUser::WithoutSudo(7), &sentence),
            ["as root, install it (`apt install x`)"]
        );
    }

    #[test]
    fn the_user_is_read_below_the_root() {
        let user_of = |files: &[(&str, &str)]| {
            let folder = howlate_testing::tree(files);
            CommandUser::read(&Root::at(folder.path()))
        };
        let user = ("proc/self/status", "Name:\tx\nUid:\t65534\t65534\t65534\t65534\n");
        assert!(matches!(user_of(&[]), CommandUser::WithSudo));
        assert!(matches!(user_of(&[("proc/self/status", "Uid:\t0\t0\t0\t0\n")]), CommandUser::Root));
        assert!(matches!(user_of(&[user]), CommandUser::WithoutSudo(65534)));
        assert!(matches!(user_of(&[user, ("usr/bin/sudo", "")]), CommandUser::WithSudo));
    }
}
