//! Threads of a process, and their counterparts in another run of the program.

use std::fs;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenThread {
    pub tid: u32,
    pub name: String,
}

/// The threads of a process, oldest first.
pub fn threads(pid: u32) -> Vec<SeenThread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let read = |entry: fs::DirEntry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        Some(SeenThread { tid: entry.file_name().to_str()?.parse().ok()?, name: name.trim_end().to_owned() })
    };
    let mut found: Vec<SeenThread> = tasks.filter_map(read).collect();
    found.sort_by_key(|thread| thread.tid);
    found
}

/// The parent's process ID.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain spaces and parentheses.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Adds new threads, and updates the names of known ones.
pub fn add(seen: &mut Vec<SeenThread>, now: Vec<SeenThread>) {
    for thread in now {
        match seen.iter_mut().find(|known_thread| known_thread.tid == thread.tid) {
            Some(known_thread) => known_thread.name = thread.name,
            None => seen.push(thread),
        }
    }
}

/// The command for another run of the program, with each thread ID replaced by that of the thread with the same name and order.
pub fn translate(command: &str, then: &[SeenThread], now: &[SeenThread]) -> String {
    let mut text = String::new();
    let mut number = String::new();
    // The added space ends a number at the end.
    for letter in command.chars().chain([' ']) {
        if letter.is_ascii_digit() {
            number.push(letter);
            continue;
        }
        let same = number.parse().ok().and_then(|tid| counterpart(tid, then, now));
        text.push_str(&same.map_or_else(|| number.clone(), |tid| tid.to_string()));
        number.clear();
        text.push(letter);
    }
    text.pop();
    text
}

fn counterpart(tid: u32, then: &[SeenThread], now: &[SeenThread]) -> Option<u32> {
    let place = then.iter().position(|thread| thread.tid == tid)?;
    let name = &then[place].name;
    let order = then[..place].iter().filter(|thread| thread.name == *name).count();
    let same = now.iter().filter(|thread| thread.name == *name).nth(order);
    // A thread that has renamed itself is identified by its position.
    same.or_else(|| now.get(place)).map(|thread| thread.tid)
}

/// The threads whose IDs a command contains.
pub fn threads_in<'a>(command: &str, threads: &'a [SeenThread]) -> Vec<&'a SeenThread> {
    let numbers: Vec<u32> =
        command.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    threads.iter().filter(|thread| numbers.contains(&thread.tid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(threads: &[(u32, &str)]) -> Vec<SeenThread> {
        threads.iter().map(|(tid, name)| SeenThread { tid: *tid, name: (*name).to_owned() }).collect()
    }

    #[test]
    fn a_command_finds_its_threads_again() {
        let then = seen(&[(100, "control"), (101, "worker"), (102, "worker"), (103, "phase 3")]);
        let now = seen(&[(200, "control"), (201, "worker"), (205, "worker"), (206, "phase 1")]);
        let command = |line: &str| translate(line, &then, &now);
        assert_eq!(command("chrt --fifo -p 80 102"), "chrt --fifo -p 80 205");
        assert_eq!(command("chrt --fifo -p 80 103"), "chrt --fifo -p 80 206", "known by its place");
        assert_eq!(command("echo 1 > /proc/100/timerslack_ns"), "echo 1 > /proc/200/timerslack_ns");
        assert_eq!(command("chrt --fifo -p 80 1020"), "chrt --fifo -p 80 1020", "another number");
        let names: Vec<&str> =
            threads_in("chrt -p 101 103", &then).iter().map(|thread| thread.name.as_str()).collect();
        assert_eq!(names, ["worker", "phase 3"]);
    }

    #[test]
    fn this_process_has_threads() {
        let mut seen = threads(std::process::id());
        assert!(!seen.is_empty());
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
        let count = seen.len();
        let tid = seen[0].tid;
        add(&mut seen, vec![SeenThread { tid, name: "renamed".to_owned() }]);
        assert_eq!((seen.len(), seen[0].name.as_str()), (count, "renamed"));
    }
}
