//! The threads of a process, and which of another run's they are.

use std::fs;

/// A thread that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub tid: u32,
    pub name: String,
}

/// Those of a process, the oldest first.
pub fn threads(pid: u32) -> Vec<Thread> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let one = |entry: fs::DirEntry| {
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        Some(Thread { tid: entry.file_name().to_str()?.parse().ok()?, name: name.trim_end().to_owned() })
    };
    let mut all: Vec<Thread> = tasks.filter_map(one).collect();
    all.sort_by_key(|thread| thread.tid);
    all
}

/// Who started a process.
pub fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Its name may have blanks and brackets.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Adds those that were not seen before; the others keep the name that they have by now.
pub fn add(seen: &mut Vec<Thread>, now: Vec<Thread>) {
    for thread in now {
        match seen.iter_mut().find(|one| one.tid == thread.tid) {
            Some(known) => known.name = thread.name,
            None => seen.push(thread),
        }
    }
}

/// The command for another run of the program: numbers of threads are those of the same name and order there.
pub fn translated(command: &str, then: &[Thread], now: &[Thread]) -> String {
    let mut all = String::new();
    let mut number = String::new();
    // A blank at the end ends a number.
    for letter in command.chars().chain([' ']) {
        if letter.is_ascii_digit() {
            number.push(letter);
            continue;
        }
        let same = number.parse().ok().and_then(|tid| counterpart(tid, then, now));
        all.push_str(&same.map_or_else(|| number.clone(), |tid| tid.to_string()));
        number.clear();
        all.push(letter);
    }
    all.pop();
    all
}

fn counterpart(tid: u32, then: &[Thread], now: &[Thread]) -> Option<u32> {
    let place = then.iter().position(|one| one.tid == tid)?;
    let name = &then[place].name;
    let order = then[..place].iter().filter(|one| one.name == *name).count();
    let same = now.iter().filter(|one| one.name == *name).nth(order);
    // One that has renamed itself is known by its place.
    same.or_else(|| now.get(place)).map(|one| one.tid)
}

/// The threads whose numbers a command has.
pub fn named<'a>(command: &str, all: &'a [Thread]) -> Vec<&'a Thread> {
    let numbers: Vec<u32> =
        command.split(|letter: char| !letter.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    all.iter().filter(|one| numbers.contains(&one.tid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(of: &[(u32, &str)]) -> Vec<Thread> {
        of.iter().map(|(tid, name)| Thread { tid: *tid, name: (*name).to_owned() }).collect()
    }

    #[test]
    fn a_command_finds_its_threads_again() {
        let then = all(&[(100, "control"), (101, "worker"), (102, "worker"), (103, "phase 3")]);
        let now = all(&[(200, "control"), (201, "worker"), (205, "worker"), (206, "phase 1")]);
        let command = |line: &str| translated(line, &then, &now);
        assert_eq!(command("chrt --fifo -p 80 102"), "chrt --fifo -p 80 205");
        assert_eq!(command("chrt --fifo -p 80 103"), "chrt --fifo -p 80 206", "known by its place");
        assert_eq!(command("echo 1 > /proc/100/timerslack_ns"), "echo 1 > /proc/200/timerslack_ns");
        assert_eq!(command("chrt --fifo -p 80 1020"), "chrt --fifo -p 80 1020", "another number");
        let names: Vec<&str> = named("chrt -p 101 103", &then).iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["worker", "phase 3"]);
    }

    #[test]
    fn this_process_has_threads() {
        let mut seen = threads(std::process::id());
        assert!(!seen.is_empty());
        assert_eq!(parent(std::process::id()), Some(std::os::unix::process::parent_id()));
        let count = seen.len();
        let tid = seen[0].tid;
        add(&mut seen, vec![Thread { tid, name: "renamed".to_owned() }]);
        assert_eq!((seen.len(), seen[0].name.as_str()), (count, "renamed"));
    }
}
