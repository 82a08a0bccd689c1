//! What tracefs would say of a kernel's events in their `format` files, from the structures of their records.
//!
//! An event is there if the kernel has a type `btf_trace_NAME`. Events that are alike share a structure, and which ones do is
//! said nowhere but in the source. Numbers of events are given when a kernel boots: here they count from 1.
//!
//! Source: `include/trace/trace_events.h`, stage 1, and `include/trace/bpf_probe.h`.

use std::fmt::Write;
use std::io;

use super::types::{Field, Types};

/// The events that the tracers read, each with the classes that it is, or was, of.
const EVENTS: [(&str, &[&str]); 21] = [
    ("sched_switch", &["sched_switch"]),
    ("sched_waking", &["sched_wakeup_template"]),
    ("sched_migrate_task", &["sched_migrate_task"]),
    ("sched_process_fork", &["sched_process_fork"]),
    ("sched_process_exit", &["sched_process_exit", "sched_process_template"]),
    ("task_rename", &["task_rename"]),
    ("hrtimer_start", &["hrtimer_start"]),
    ("hrtimer_start_expired", &["hrtimer_class"]),
    ("hrtimer_expire_entry", &["hrtimer_expire_entry"]),
    ("hrtimer_rearm", &["hrtimer_rearm"]),
    ("irq_handler_entry", &["irq_handler_entry"]),
    ("irq_handler_exit", &["irq_handler_exit"]),
    ("softirq_raise", &["softirq"]),
    ("softirq_entry", &["softirq"]),
    ("softirq_exit", &["softirq"]),
    ("local_timer_entry", &["x86_irq_vector"]),
    ("local_timer_exit", &["x86_irq_vector"]),
    ("call_function_single_entry", &["x86_irq_vector"]),
    ("reschedule_entry", &["x86_irq_vector"]),
    ("page_fault_user", &["exceptions", "x86_exceptions"]),
    ("signal_generate", &["signal_generate"]),
];

/// What the names of fields of varying length begin with: where they are, and how long, is said in four bytes.
const ELSEWHERE: &str = "__data_loc_";
/// Where those fields are.
const DATA: &str = "__data";

/// The formats of all of these events that a kernel has.
pub(super) fn of(types: &Types) -> io::Result<String> {
    let mut text = String::new();
    for (number, (event, classes)) in EVENTS.iter().enumerate() {
        if !types.has_name(&format!("btf_trace_{event}")) {
            continue;
        }
        let fields = classes.iter().find_map(|class| types.fields(&format!("trace_event_raw_{class}")));
        let fields = fields.ok_or_else(|| io::Error::other(format!("of what class is {event}?")))?;
        let common = types.fields("trace_entry").ok_or_else(|| io::Error::other("no trace_entry"))?;
        let (of_all, own) = (common.iter().map(|field| line(field, "common_")), fields.iter());
        let own = own.filter(|field| field.name != "ent" && field.name != DATA).map(|field| line(field, ""));
        let lines = [of_all.collect(), own.collect::<String>()].join("\n");
        write!(text, "name: {event}\nID: {}\nformat:\n{lines}\n", number + 1).map_err(io::Error::other)?;
    }
    Ok(text)
}

fn line(field: &Field, before: &str) -> String {
    let (placed, name) =
        field.name.strip_prefix(ELSEWHERE).map_or(("", field.name.as_str()), |name| ("__data_loc ", name));
    let elements = field.elements.map_or(String::new(), |count| format!("[{count}]"));
    let Field { of, offset, size, signed, .. } = field;
    let signed = u8::from(*signed);
    format!(
        "\tfield:{placed}{of} {before}{name}{elements};\toffset:{offset};\tsize:{size};\tsigned:{signed};\n"
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    /// Name, offset and size of each field in the text of a format.
    fn laid_out(text: &str) -> BTreeSet<(String, String, String)> {
        let field = |line: &str| {
            let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
            let name = parts.next()?.split_whitespace().next_back()?.split('[').next()?;
            Some((name.to_owned(), parts.next()?.to_owned(), parts.next()?.to_owned()))
        };
        text.lines().filter_map(field).collect()
    }

    #[test]
    fn the_types_of_this_kernel_say_what_its_tracefs_says() {
        let (events, types) = (Path::new("/sys/kernel/tracing/events"), Path::new("/sys/kernel/btf/vmlinux"));
        let Ok(types) = Types::read(types) else {
            return howlate_testing::skip("no bpftool, or no types of this kernel");
        };
        if !events.exists() {
            return howlate_testing::skip("tracefs is not mounted");
        }
        let derived = of(&types).unwrap();
        let mut compared = 0;
        for field in derived.split("name: ").skip(1) {
            let name = field.lines().next().unwrap();
            let folders = std::fs::read_dir(events).unwrap().map(|system| system.unwrap().path().join(name));
            for folder in folders.filter(|folder| folder.exists()) {
                let format_file = std::fs::read_to_string(folder.join("format")).unwrap();
                assert_eq!(laid_out(field), laid_out(&format_file), "{name}");
                compared += 1;
            }
        }
        assert!(compared > 10, "{derived}");
    }
}
