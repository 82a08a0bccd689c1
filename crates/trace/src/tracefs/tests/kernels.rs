//! The events of kernels that people run, as `cargo xtask capture-kernel` has them of their packages: `testdata/kernels/`.

use std::path::{Path, PathBuf};

use super::super::{EVENTS, HRTIMER_PASSED, OF_THREADS};
use super::*;

/// The folders of all kernels.
fn kernels() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/kernels");
    let folders = std::fs::read_dir(all).unwrap().map(|entry| entry.unwrap().path());
    folders.filter(|path| path.is_dir()).collect()
}

/// What a kernel says of each of its events, by name.
fn formats_in(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split("name: ").skip(1).map(|one| (one.lines().next().unwrap(), one))
}

/// What is wrong with a kernel's description of the events that are read.
fn wrong(formats: &str) -> Vec<String> {
    let read = |(_, event, _): &(&str, &str, bool)| {
        let Some((_, text)) = formats_in(formats).find(|(name, _)| name == event) else {
            // Linux 7.0 and before set every timer.
            return (*event != HRTIMER_PASSED).then(|| format!("there is no event {event}"));
        };
        let format = Format::parse(text).unwrap();
        let mut fields = OF_THREADS.iter().filter(|(of, _)| of == event).map(|(_, field)| field);
        let read = Records::default().add(event, &format);
        let filtered = fields.try_for_each(|field| format.number(field).map(drop));
        read.and(filtered).err().map(|reason| format!("event {event}: {reason}"))
    };
    EVENTS.iter().filter_map(read).collect()
}

#[test]
fn every_field_of_every_event_is_there_in_every_kernel() {
    let (mut all, mut counted) = (Vec::new(), 0);
    for folder in kernels() {
        let formats = std::fs::read_to_string(folder.join("formats")).unwrap();
        let kernel = folder.file_name().unwrap().display();
        all.extend(wrong(&formats).into_iter().map(|what| format!("{kernel}: {what}")));
        counted += 1;
    }
    assert!(all.is_empty(), "{all:#?}");
    assert_eq!(counted, 8);
}

#[test]
fn what_is_renamed_resized_or_gone_is_told_by_event_and_field() {
    let folder = kernels().into_iter().find(|folder| folder.ends_with("7.3.4+deb13-amd64")).unwrap();
    let formats = std::fs::read_to_string(folder.join("formats")).unwrap();
    let check = |from: &str, to: &str, told: &[&str]| {
        assert!(formats.contains(from));
        assert_eq!(wrong(&formats.replace(from, to)), told);
    };
    check("char next_comm[16]", "char comm[16]", &["event sched_switch: its field next_comm is not there"]);
    let state = "long int prev_state;\toffset:32;\tsize:";
    let wide = format!("{state}16;");
    check(&format!("{state}8;"), &wide, &["event sched_switch: its field prev_state has 16 bytes"]);
    check("dest_cpu", "cpu", &["event sched_migrate_task: its field dest_cpu is not there"]);
    check("name: softirq_raise\n", "name: softirq_risen\n", &["there is no event softirq_raise"]);
}
