//! Caveats as sentences.

use std::collections::HashMap;

use howlate_model::{
    Caveat, Claim, CpuSet, HistogramEnd, ImportNote, Latency, PolicyRemedy, Span, TurnFailure,
};

use crate::control_group_name::control_group_name;
use crate::numbers::{count, length, rough};
use crate::prose::capitalised;
use crate::untrusted_text::legible;

/// The sentences of caveats, each with the number of caveats. Those that differ only in a number share a sentence with the lowest and highest.
pub fn sentences<'a>(caveats: impl IntoIterator<Item = &'a Caveat>) -> Vec<(String, usize)> {
    let mut groups: Vec<(Vec<&Caveat>, usize)> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for caveat in caveats {
        let position = *positions.entry(with_number(caveat, "")).or_insert(groups.len());
        match groups.get_mut(position) {
            Some((group, times)) => {
                group.push(caveat);
                *times += 1;
            }
            None => groups.push((vec![caveat], 1)),
        }
    }
    groups.into_iter().map(|(group, times)| (joint_sentence(&group), times)).collect()
}

/// One sentence for caveats that differ at most in a number.
fn joint_sentence(alike: &[&Caveat]) -> String {
    let mut numbers: Vec<u64> = alike.iter().filter_map(|caveat| number(caveat)).collect();
    numbers.sort_unstable();
    match (alike.first(), numbers.as_slice()) {
        (Some(caveat), [least, .., largest]) if least != largest => {
            let range = format!("{} to {}", number_text(caveat, *least), number_text(caveat, *largest));
            with_number(caveat, &range)
        }
        (Some(caveat), _) => self::caveat(caveat),
        (None, _) => String::new(),
    }
}

/// The number in which caveats with the same sentence may differ.
const fn number(caveat: &Caveat) -> Option<u64> {
    match caveat {
        Caveat::Unfinished { got, .. } => Some(*got),
        Caveat::EarlyWakeups { count } => Some(*count),
        Caveat::MachineBusy { load_average_percent, .. } => Some(*load_average_percent),
        _ => None,
    }
}

fn number_text(caveat: &Caveat, number: u64) -> String {
    match caveat {
        Caveat::MachineBusy { .. } => format!("{}.{}", number / 100, number / 10 % 10),
        _ => count(number),
    }
}

/// The sentence with `number` in place of the caveat's number.
fn with_number(caveat: &Caveat, number: &str) -> String {
    match caveat {
        Caveat::Unfinished { reason, .. } => format!("Unfinished after {number} wake-ups: {reason}."),
        Caveat::EarlyWakeups { count: 1 } if number == "1" => {
            "1 wake-up was early; it counts as 0.".to_owned()
        }
        Caveat::EarlyWakeups { .. } => format!("{number} wake-ups were early; they count as 0."),
        Caveat::MachineBusy { cpus, .. } => format!(
            "Other programs were running (load average {number} on {}): they are part of what was measured, also under \"idle\", and causes may be wrong.",
            if *cpus == 1 { "1 CPU".to_owned() } else { format!("{cpus} CPUs") }
        ),
        _ => self::caveat(caveat),
    }
}

/// The caveat in one sentence: what was found, and what would help.
pub fn caveat(caveat: &Caveat) -> String {
    match caveat {
        Caveat::PolicyRefused { asked: requested, in_force, reason, worded_remedy, would_help } => {
            let remedy = would_help.as_ref().map_or_else(|| worded_remedy.clone(), policy_remedy);
            let remedy = if remedy.is_empty() { String::new() } else { format!(" {remedy}") };
            format!("{requested} was refused ({reason}); measured as {in_force}.{remedy}")
        }
        Caveat::NiceInherited { nice } => {
            format!("`other` runs at nice {}, inherited from howlate.", nice.get())
        }
        Caveat::SlackInherited { asked: requested } => {
                format!("`{requested}` has no timer slack here: howlate was started with a real-time policy.")
        }
        Caveat::ThreadsApart { threads: 1 } => {
            "1 thread of the program runs under a different policy.".to_owned()
        }
        Caveat::ThreadsApart { threads } => {
            format!("{threads} threads of the program run under policies of their own.")
        }
        Caveat::SlackDiffers { asked_ns, in_force_ns } => {
            format!(
                "A timer slack of {} was requested; {} is in force.",
                length(*asked_ns),
                length(*in_force_ns)
            )
        }
        Caveat::SliceRefused { asked_ns, reason } => {
            format!("A time slice of {} was requested and refused ({reason}).", length(*asked_ns))
        }
        Caveat::AffinityDiffers { asked: requested, in_force, reason } => {
                format!("The thread was asked to run on CPU {requested}, but may run on {in_force} ({reason}).")
        }
        Caveat::PolicyChanged { began, ended } => {
            format!(
                "The scheduling policy was changed from outside during the measurement: {began} at the start, {ended} at the end."
            )
        }
        Caveat::SlackChanged { began_ns, ended_ns } => {
            format!(
                "The timer slack was changed during the measurement: {began_ns} at the start, {ended_ns} at the end."
            )
        }
        Caveat::SliceChanged { began_ns, ended_ns } => {
            format!(
                "The fair scheduler's slice was changed during the measurement: {began_ns} at the start, {ended_ns} at the end."
            )
        }
        Caveat::GroupChanged { began, ended } => {
            format!(
                "A thread was moved to another control group during the measurement: {} at the start, {} at the end.",
                groups(began, ended),
                groups(ended, began)
            )
        }
        Caveat::ClockStepped { clock, by_ns } => {
            let way = if *by_ns < 0 { "back" } else { "forward" };
            format!(
                "{} was stepped {way} by {} while this was measured; wake-ups are early or late by that much.",
                clock.constant(),
                Latency::from_span(Span::from_nanos(by_ns.unsigned_abs()))
            )
        }
        Caveat::RealtimeTime { found_ns, now_ns } => realtime_time(*found_ns, *now_ns),
        Caveat::MemoryNotLocked { reason } => format!(
            "Memory is not locked ({reason}), so page faults may delay wake-ups. Needs root, or a higher limit: {} In a container, `--ulimit memlock=-1`.",
            raised("memlock", "unlimited")
        ),
        Caveat::DmaLatencyRefused { asked_us, reason } => format!(
            "/dev/cpu_dma_latency could not be held at {asked_us} µs ({reason}); idle states are unchanged. See `howlate doctor`."
        ),
        Caveat::ObserverShares { measured } => format!(
            "All CPUs ({measured}) are under test, so howlate's own monitoring thread runs on one of them, 10 times a second."
        ),
        Caveat::ThreadsShareCpus { threads, cpus } => {
            format!("{threads} threads on {cpus} CPUs delay one another.")
        }
        Caveat::NoBpfScheduler => {
            "No BPF scheduler (sched_ext) is loaded: the kernel's own ran the `ext` threads, like `other`.".to_owned()
        }
        Caveat::ProcessesNotFollowed { count } => format!(
            "The program had {count} processes beyond the limit that can be followed; their threads are not in the result."
        ),
        Caveat::ThreadsFoundLate { count, every_ns } => format!(
            "Threads that started during the watch were found by polling every {every_ns} ({count} in all): their start, and threads that came and went in between, are not in the result. The tracer bpf sees every start."
        ),
        Caveat::WaitsBounded { count: bounded } => format!(
            "{} times the kernel reported more waiting than the thread can have had: since Linux 6.12 it counts some sleep. The longest possible wait was used instead.",
            count(*bounded)
        ),
        Caveat::NoRequests => {
            "No request was seen: nobody sent data to a server of the program, or it does not answer at stream sockets (TCP, Unix).".to_owned()
        }
        Caveat::ThreadsJoined { count } => format!(
            "{count} threads are not counted separately: at most 64 of one kind of name (numbers aside) and 128 in total are. The rest are in \"(others)\", with the settings of the first of each. To select the ones that matter: `--thread`."
        ),
        Caveat::LoopsNotMeasured { count } => format!(
            "The program marked {count} loops beyond the limit; their iterations are not in the result."
        ),
        Caveat::SpansLost { count: lost } => format!(
            "{} spans within iterations are not in the result: they came faster than they could be read, or had implausible times.",
            count(*lost)
        ),
        Caveat::SpansNotMeasured { name, first, kept: most } => format!(
                "{} has more than {most} names of spans: `{}` and later ones are not measured.",
            legible(name),
            legible(first)
        ),
        Caveat::CpusNotMeasured { followed, others: not_isolated, isolated } => {
            let offered = if isolated.is_empty() { not_isolated } else { isolated };
            let are = match (isolated.is_empty(), offered.len()) {
                (true, _) => "can be measured too,",
                (false, 1) => "is isolated, and is measured",
                (false, _) => "are isolated, and are measured",
            };
            format!(
                "One thread per CPU of the affinity mask of this process ({followed}). {} {are} with `--cpus {offered}`.",
                cpus(offered)
            )
        }
        Caveat::LeftOut { condition, reason } => format!("Left out: {condition}: {reason}."),
        Caveat::SettingLeftOut { setting, asked: requested, reason } => {
                format!("The setting {setting} = {requested} is not in force: {reason}.")
        }
        Caveat::SettingNotRestored { path, before, reason } => {
            format!(
                "{path} could not be restored to `{before}` ({reason}): `echo '{before}' > {path}` as root."
            )
        }
        Caveat::SettingChanged { path, set, found } => {
            let (path, set, found) = (path.clone(), set.clone(), found.clone());
            TurnFailure::SettingChanged { path, set, found }.to_string()
        }
        Caveat::ControlNotTried { setting, reason } => {
            format!("{setting} cannot be held ({reason}), so that one control was not tried. Only root can.")
        }
        Caveat::SettingLeftBehind { path, left, restored } => format!(
            "A killed howlate had left {path} at `{left}`; it was restored to `{restored}` before this run."
        ),
        Caveat::GroupNotRemoved { path, reason } => {
            format!("The control group {path} could not be removed ({reason}): `rmdir {path}` as root.")
        }
        Caveat::GroupLeftBehind { path } => format!(
            "A killed howlate had left the control group {path} behind; it was removed before this run."
        ),
        Caveat::GuardianGone => {
            "The guardian process was killed during the run; howlate restored the settings itself.".to_owned()
        }
        Caveat::SamplesLost { count: 1 } => {
            "1 wake-up came faster than it could be collected, and is missing.".to_owned()
        }
        Caveat::SamplesLost { count: lost } => {
            format!("{} wake-ups came faster than they could be collected, and are missing.", count(*lost))
        }
        Caveat::WakeupsNotSeen { count: 1 } => {
            "1 wake-up was not seen by the tracer, and is missing.".to_owned()
        }
        Caveat::WakeupsNotSeen { count: unseen } => {
            format!("{} wake-ups were not seen by the tracer, and are missing.", count(*unseen))
        }
        Caveat::MessagesIrregular { lost, duplicated, reordered } => format!(
            "Irregular notifications, not in the numbers: {} lost or merged, {} duplicated, {} reordered.",
            count(*lost),
            count(*duplicated),
            count(*reordered)
        ),
        Caveat::EarlyWakeups { count: early } => with_number(caveat, &number_text(caveat, *early)),
        Caveat::Unfinished { got, .. } => with_number(caveat, &number_text(caveat, *got)),
        Caveat::PageFaults { minor, major } => {
            format!("Page faults in the measured threads: {} minor, {} major.", count(*minor), count(*major))
        }
        Caveat::MachineBusy { load_average_percent, .. } => {
            with_number(caveat, &number_text(caveat, *load_average_percent))
        }
        Caveat::LoadNice { load, nice } => {
            format!("The load {load} runs at nice {}, inherited from howlate, not at 0.", nice.get())
        }
        Caveat::LoadEnded { load, words: reason } => {
                format!("The load {load} ended by itself ({reason}); later measurements ran without it.")
        }
        Caveat::TracerRefused { tracer, reason } => format!("Tracer {tracer} is not available: {reason}."),
        Caveat::TimelinesRefused { reason } => {
            format!("No timelines of all CPUs are kept: {reason}.")
        }
        Caveat::TimelinesWithoutFile => {
            "No timelines of all CPUs are kept: there is no recording in a folder to keep them beside. Name a file with `--out`.".to_owned()
        }
        Caveat::TimelinesMissing { too_late, not_written } => missing_timelines(*too_late, *not_written),
        Caveat::CommandsLeftOut { count } => commands_left_out(*count),
        Caveat::TracerGoesWithout { tracer, event, costs } => {
            format!("This kernel lacks the event {event} (tracer {tracer}): {costs}.")
        }
        Caveat::NotTraced { mechanism, reason } => format!("{mechanism} is not traced: {reason}."),
        Caveat::LoadIneffective { load } => format!(
            "The load {load} did no work: its processes got no CPU time, or the turns were too short."
        ),
        Caveat::RecordingIncomplete { lines_lost, reason } => {
            format!("{} lines could not be written to the recording ({reason}).", count(*lines_lost))
        }
        Caveat::SamplesIncomplete { path, missing } => format!(
            "{path} lacks {} wake-ups: at most 100 000 per turn are kept individually.",
            count(*missing)
        ),
        Caveat::SamplesUnreadable { path, reason } => format!("{path} cannot be read: {reason}."),
        Caveat::RecordingCutOff { path } => {
            format!("The last line of {path} is incomplete, as after a crash; the rest was read.")
        }
        Caveat::NoEnd { path } => {
            format!("{path} has no end: the run was killed, or is still going on.")
        }
        Caveat::RecordingsJoined { path, line } => format!(
            "Another recording begins on line {line} of {path}, and was not read; `tail -n +{line}` extracts it."
        ),
        Caveat::UnknownConditions { path, lines } => format!(
            "{path} is damaged: {} lines are about conditions that it does not list, and are not in the numbers.",
            count(*lines)
        ),
        Caveat::SourceLeftOut { path, reason } => format!("{path} is not in the numbers: {reason}."),
        Caveat::SourceTwice { path } => {
            format!("{path} was given twice; it counts once.")
        }
        Caveat::FoundAwake { messages, of } => format!(
            "For {} of {} messages the receiver was still awake: these measure a call, not a wake-up. They are in the numbers; with a longer --after it sleeps.",
            count(*messages),
            count(*of)
        ),
        Caveat::Throttled { group, stopped, periods, stopped_ns } => format!(
            "The CPU quota of this control group ({}) was used up in {} of {} periods; normal threads \
             were stopped for {}, summed over the CPUs. `howlate doctor` says how to lift it.",
            control_group_name(group),
            count(*stopped),
            count(*periods),
            rough(*stopped_ns)
        ),
        Caveat::QuotaUsedUp { process, group, stopped, periods, stopped_ns } => format!(
            "The CPU quota of the control group of process {process} ({}) was used up in {} of {} periods; its normal threads were \
             stopped for {}, summed over the CPUs. A larger quota (`cpu.max`, a service's `CPUQuota=`, a container's `--cpus`) stops them less.",
            control_group_name(group),
            count(*stopped),
            count(*periods),
            rough(*stopped_ns)
        ),
        Caveat::GroupFrozen { process: None, group, frozen_ns } => format!(
            "This control group ({}) was frozen for {}: all threads in it stood still, those of howlate too, which counts as lateness.",
            control_group_name(group),
            rough(*frozen_ns)
        ),
        Caveat::GroupFrozen { process: Some(process), group, frozen_ns } => format!(
            "The control group of process {process} ({}) was frozen for {}: all threads in it stood still, which counts as lateness.",
            control_group_name(group),
            rough(*frozen_ns)
        ),
        Caveat::SiblingBusy { cpu, sibling, percent } => format!(
            "CPU {sibling}, on the same core as the measured CPU {cpu}, was busy {percent} % of the time, which slows the measured one. \
             Keep it idle, or measure elsewhere with `--cpus`."
        ),
        Caveat::Imported { program, unsaid, notes } => imported(program, unsaid, notes),
        Caveat::OneTcgThread { qemu } => format!(
            "One host thread emulated all guest CPUs in turn: with one thread per CPU, QEMU {qemu} can hang while the guest traces. QEMU 8.1 or newer does not."
        ),
        Caveat::EmulatedCpu => "Emulated CPU: compare kernels with each other, not with hardware.".to_owned(),
        Caveat::GuestRestarted { fault, qemu } => format!(
            "A guest's kernel stopped while it booted ({}) and was booted again, which is consistent with a fault of QEMU {qemu}: it \
             may run an instruction that another CPU is changing. QEMU 8.1 or newer does not.",
            if fault.is_empty() { "without a word" } else { fault }
        ),
        Caveat::KvmFailed { reason } => format!(
            "/dev/kvm is there, but guests do not run on it ({reason}), so their CPUs were emulated. `--accel tcg` does \
             not try it first."
        ),
        Caveat::RealtimeClock => {
            "the threads waited on CLOCK_REALTIME; times are shifted to CLOCK_MONOTONIC".to_owned()
        }
        Caveat::OldNote { text } => text.clone(),
    }
}

/// How to get a refused policy.
pub fn policy_remedy(remedy: &PolicyRemedy) -> String {
    match remedy {
        PolicyRemedy::NiceLimit => {
            format!("Needs root, or a higher limit: {}", raised("nice", "-20"))
        }
        PolicyRemedy::RealtimeLimit { priority } => {
            format!("Needs root, or a higher limit: {}", raised("rtprio", &priority.get().to_string()))
        }
        PolicyRemedy::SchedExtKernel => {
            "SCHED_EXT needs a kernel with sched_ext: Linux 6.12 or later, with `CONFIG_SCHED_CLASS_EXT`.".to_owned()
        }
        PolicyRemedy::DeadlineRights => {
            "SCHED_DEADLINE needs root (CAP_SYS_NICE), outside of user namespaces such as rootless containers.".to_owned()
        }
        PolicyRemedy::DeadlineAffinity { allowed, online } => format!(
            "SCHED_DEADLINE takes only threads that may run on all CPUs ({online}), and this process was started on {allowed}: start it without \
             `taskset`, outside of its cpuset."
        ),
        PolicyRemedy::DeadlineNoShare => {
            "No time is set aside for SCHED_DEADLINE: `sudo sysctl kernel.sched_rt_runtime_us=950000`.".to_owned()
        }
        PolicyRemedy::DeadlineBandwidth { threads, runtime_ns, period_ns, share_percent, cpus } => {
            deadline_bandwidth(*threads, percent_of(*runtime_ns, *period_ns), *share_percent, *cpus)
        }
        PolicyRemedy::DeadlineLengths { shortest_us, longest_us } => format!(
            "The kernel takes runtimes from 2 µs, not longer than the period, and periods from {shortest_us} to {longest_us} µs."
        ),
        PolicyRemedy::Finding { found, apply, .. } => {
            let (notes, commands): (Vec<&String>, Vec<_>) = apply.iter().partition(|step| step.starts_with("# "));
            let notes: String =
                notes.iter().map(|step| format!("{} ", step.trim_start_matches("# "))).collect();
            let commands: Vec<String> = commands.into_iter().map(|step| step_to_type(step)).collect();
            format!("{}: {notes}{}", capitalised(found), commands.join(", then "))
        }
        PolicyRemedy::RootOnHost => "Run howlate guest as root on the host.".to_owned(),
    }
}

/// Why the requested bandwidth is refused: the request, the available share, and what to change.
fn deadline_bandwidth(threads: u32, each: u64, share: u32, cpus: u32) -> String {
    let of_cpus = match cpus {
        1 => format!("{share} % of one CPU"),
        cpus => format!("{share} % of each of {cpus} CPUs, {} % together", share * cpus),
    };
    let request = match threads {
        0 | 1 => format!("This thread asks for {each} % of a CPU"),
        threads => format!(
            "These {threads} threads ask for {each} % of a CPU each, {} % together",
            each * u64::from(threads)
        ),
    };
    format!(
        "{request}; all threads under SCHED_DEADLINE, also those of other programs, get {of_cpus}. Ask for less (`--policy \
         deadline:RUNTIME/PERIOD`), with fewer threads, or end the others: `ps -eLo cls,pid,comm | grep DLN`."
    )
}

/// Share of a CPU, in percent.
fn percent_of(runtime: Span, period: Span) -> u64 {
    runtime.as_nanos().saturating_mul(100).checked_div(period.as_nanos()).unwrap_or(0)
}

/// A step as code, followed by its comment.
fn step_to_type(step: &str) -> String {
    match step.split_once(" # ") {
        Some((command, remark)) => format!("`{}` ({})", command.trim_end(), remark.trim()),
        None => format!("`{step}`"),
    }
}

/// The limit of real-time computing time, and whether it was raised.
fn realtime_time(found: Span, now: Option<Span>) -> String {
    let limit = format!(
        "RLIMIT_RTTIME of {} ends a program whose real-time thread computes that long without sleeping",
        length(found)
    );
    match now {
        None => format!("{limit}; it is lifted for this run."),
        Some(now) if now > found => {
            format!("{limit}; it is raised to {} for this run, the most that is allowed here.", length(now))
        }
        Some(_) => format!(
            "{limit}, and may not be raised here: `sudo prlimit --pid $$ --rttime=unlimited` lifts it for this shell."
        ),
    }
}

/// The command by which root raises this user's limit: `limits.conf(5)`.
fn raised(item: &str, value: &str) -> String {
    let file = format!("/etc/security/limits.d/90-howlate-{item}.conf");
    format!("`echo \"$(id -un) - {item} {value}\" | sudo tee {file}`, then log out and in.")
}

/// The program that measured, and what its file does not say.
fn imported(program: &str, unsaid: &[String], notes: &[ImportNote]) -> String {
    let mut sentences = vec![format!("Measured by {program}: distributions as its file has them.")];
    if !unsaid.is_empty() {
        sentences.push(format!("It does not say {}.", listed(unsaid)));
    }
    sentences.extend(notes.iter().map(import_note));
    sentences.join(" ")
}

/// Values beyond the last bucket, from where on, and how that is known.
fn beyond_the_last(beyond: u64, from: Option<Span>, end: HistogramEnd) -> String {
    let from = from.map_or_else(|| "its last bucket".to_owned(), length);
    let source = match end {
        HistogramEnd::Said => "",
        HistogramEnd::Assumed => {
            " (the program's default, as the file does not say where its histogram ends)"
        }
        HistogramEnd::Unknown => " (the end of the rows in the file; its histogram may have reached further)",
    };
    format!(
        "{} {} beyond {from}{source}, where the file only counts: percentiles among them are lower bounds (≥), and only the largest of each thread is known.",
        count(beyond),
        if beyond == 1 { "value was" } else { "values were" }
    )
}

fn missing_timelines(too_late: u64, not_written: u64) -> String {
    let late = (too_late > 0).then(|| {
        format!("{} came too late (`--keep` remembers more if its length is larger)", count(too_late))
    });
    let full = (not_written > 0).then(|| {
        format!("{} could not be written, or were beyond the most that is kept", count(not_written))
    });
    let reasons: Vec<String> = late.into_iter().chain(full).collect();
    format!("Timelines that are missing: {}.", reasons.join("; "))
}

/// About commands of `--on-late`.
pub(crate) fn commands_left_out(left_out: u64) -> String {
    let commands = if left_out == 1 {
        "1 command of `--on-late` was".to_owned()
    } else {
        format!("{} commands of `--on-late` were", count(left_out))
    };
    format!("{commands} not run, as an earlier one still ran.")
}

fn import_note(note: &ImportNote) -> String {
    match note {
        ImportNote::BeyondTheLastBucket { count: beyond, from, end } => beyond_the_last(*beyond, *from, *end),
        ImportNote::OverflowsMissing => {
            "The file does not count values beyond the last bucket; they are missing.".to_owned()
        }
        ImportNote::UnitTaken { unit } => format!("It does not say its unit, which is assumed to be {unit}."),
        ImportNote::CyclesMissing { count: missing } => {
            format!("The file lacks {} cycles; they are missing here too.", count(*missing))
        }
        ImportNote::Gaps => "Gaps seen by a spinning thread, not wake-up latencies.".to_owned(),
        ImportNote::Durations => "Durations, not wake-up latencies.".to_owned(),
        ImportNote::LoadNamed { load } => format!("The file names the load `{load}`."),
        ImportNote::WholeMicroseconds => {
            "Values are truncated to whole microseconds: each was up to 1 µs larger.".to_owned()
        }
        ImportNote::EndsOfBuckets { width } => {
            format!("Each value counts at the end of its bucket, which is {} wide.", length(*width))
        }
        ImportNote::PercentilesOnly => {
            "Values between the printed percentiles count at the next one above.".to_owned()
        }
        ImportNote::StartsOfBuckets { width } => format!(
            "Each value counts at the beginning of its bucket, which is {} wide: it was up to that much larger.",
            length(*width)
        ),
        ImportNote::Disagrees { claim, threads, says, rows } => disagrees(*claim, *threads, [*says, *rows]),
        ImportNote::RowsMissing { count: missing, from } => format!(
            "{} of the values that the file counts {} no row: percentiles from {} on are lower bounds (≥).",
            count(*missing),
            if *missing == 1 { "has" } else { "have" },
            length(*from)
        ),
        ImportNote::CutOff => {
            "The file ends in the middle: values after its last whole row are missing, so percentiles and maximum may be larger.".to_owned()
        }
        ImportNote::LeftOut { what } => format!("Part of the file is left out: {what}."),
        ImportNote::SeveralResults { count: several } => {
            format!("The file has {several} results, each with rows of its own.")
        }
        ImportNote::Tagged { thread, tag } => format!("Thread {thread} is what the log calls `{tag}`."),
    }
}

/// A contradiction between a file's own statistics and its rows.
fn disagrees(claim: Claim, threads: usize, [says, rows]: [u64; 2]) -> String {
    let what = match claim {
        Claim::Total => "number of values",
        Claim::Minimum => "minimum",
        Claim::Mean => "mean",
        Claim::Maximum => "maximum",
        Claim::BreakValue => "break value",
    };
    let number = |value: u64| match claim {
        Claim::Total => count(value),
        _ => length(Span::from_nanos(value)),
    };
    let other_threads = match threads {
        0 | 1 => String::new(),
        2 => ", and likewise of another thread".to_owned(),
        more => format!(", and likewise of {} other threads", count(more.saturating_sub(1) as u64)),
    };
    format!(
        "The file gives its {what} as {}, but its rows have {}{other_threads}.",
        number(says),
        number(rows)
    )
}

/// `the policy, the load or the date`.
fn listed(items: &[String]) -> String {
    match items {
        [before @ .., last] if !before.is_empty() => format!("{} or {last}", before.join(", ")),
        items => items.join(""),
    }
}

/// The control groups of `text` that `other` lacks; with cgroup v1 there is one per controller.
fn groups(text: &str, other: &str) -> String {
    let differing = text.lines().filter(|line| !other.lines().any(|same| same == *line));
    differing.collect::<Vec<_>>().join(", ")
}

/// `CPU 3`, `CPUs 2-3`.
fn cpus(set: &CpuSet) -> String {
    if set.len() == 1 { format!("CPU {set}") } else { format!("CPUs {set}") }
}

#[cfg(test)]
mod tests {
    use howlate_model::FindingId;

    use howlate_model::AsText;

    use super::*;

    #[test]
    fn caveats_that_differ_by_a_number_are_told_together() {
        let cut = |got| Caveat::Unfinished { got, reason: AsText::Text("it was cut".to_owned()) };
        let busy = |load_average_percent| Caveat::MachineBusy { load_average_percent, cpus: 2 };
        let lost = |count| Caveat::SamplesLost { count };
        let texts = sentences(&[cut(1144), busy(690), lost(1), cut(0), busy(671), lost(1), lost(2), cut(9)]);
        assert_eq!(texts[0], ("Unfinished after 0 to 1 144 wake-ups: it was cut.".to_owned(), 3));
        assert!(texts[1].0.contains("(load average 6.7 to 6.9 on 2 CPUs)"), "{}", texts[1].0);
        assert_eq!(texts.iter().map(|(_, times)| *times).collect::<Vec<_>>(), [3, 2, 2, 1]);
        assert_eq!(
            sentences(&[cut(5), cut(5)]),
            [("Unfinished after 5 wake-ups: it was cut.".to_owned(), 2)]
        );
    }

    #[test]
    fn what_is_one_is_told_as_one_and_what_is_early_together() {
        let early = |count| Caveat::EarlyWakeups { count };
        let texts = sentences(&[early(2), early(18), Caveat::WakeupsNotSeen { count: 1 }]);
        let texts: Vec<&str> = texts.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "2 to 18 wake-ups were early; they count as 0.",
                "1 wake-up was not seen by the tracer, and is missing."
            ]
        );
        assert_eq!(sentences(&[early(1)])[0].0, "1 wake-up was early; it counts as 0.");
    }

    #[test]
    fn a_step_of_a_clock_has_a_unit_that_fits() {
        let step = |by_ns| Caveat::ClockStepped { clock: howlate_model::WaitClock::Tai, by_ns };
        let texts = sentences(&[step(-999_999_999)]);
        assert!(texts[0].0.starts_with("CLOCK_TAI was stepped back by 1.00 s while"), "{}", texts[0].0);
        assert!(sentences(&[step(37_000)])[0].0.contains("forward by 37.0 µs"));
    }

    #[test]
    fn what_a_remedy_says_is_not_typed() {
        let apply = ["# on the host, not in the container:", "echo 1  # as root", "podman run"]
            .map(str::to_owned)
            .to_vec();
        let remedy =
            PolicyRemedy::Finding { id: FindingId::RtGroupScheduling, found: "no time".to_owned(), apply };
        assert_eq!(
            policy_remedy(&remedy),
            "No time: on the host, not in the container: `echo 1` (as root), then `podman run`"
        );
    }

    #[test]
    fn isolated_cpus_are_offered_before_others() {
        let set = |text: &str| text.parse::<CpuSet>().unwrap();
        let text = |not_isolated: &str, isolated: &str| {
            let (followed, not_isolated, isolated) = (set("0-1"), set(not_isolated), set(isolated));
            caveat(&Caveat::CpusNotMeasured { followed, others: not_isolated, isolated })
        };
        assert!(text("2-4", "3").contains("(0-1). CPU 3 is isolated, and is measured with `--cpus 3`."));
        assert!(text("2-4", "").contains("(0-1). CPUs 2-4 can be measured too, with `--cpus 2-4`."));
    }
}
