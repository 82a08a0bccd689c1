//! What the kernel does to the memory of programs: huge pages, swap, page merging, NUMA balancing.

use crate::settings::{
    NUMA_BALANCING_FILE, SAME_PAGE_MERGING_FILE, SWAPPINESS_FILE, TRANSPARENT_HUGE_PAGES_FILE,
};
use howlate_model::{Finding, FindingId, Verdict, shell_word};
use howlate_procfs::{Root, bracketed_choice, read_cpu_list};

use super::draft::{FindingDraft, finding};

/// Whether every program's memory is merged into huge pages.
///
/// Source: `Documentation/admin-guide/mm/transhuge.rst`.
pub(super) fn huge_pages(root: &Root) -> Option<Finding> {
    let reading = root.reading(TRANSPARENT_HUGE_PAGES_FILE);
    let choice = bracketed_choice(reading.text()?)?.to_owned();
    let always = choice == "always";
    let verdict = if always { Verdict::Costs } else { Verdict::Good };
    let found = format!("transparent huge pages: {choice}");
    let draft = finding(FindingId::TransparentHugePages, verdict, found)
        .evidence(&reading)
        .evidence(&root.reading("/sys/kernel/mm/transparent_hugepage/defrag"))
        .why(
            "With `always` the kernel copies small pages together and may compact memory during a page \
            fault; threads that touch that memory meanwhile wait. With `madvise` only programs that ask are \
            affected.",
        );
    Some(draft.when(always, |draft| draft.setting(root, "transparent_huge_pages")).finish())
}

/// A swap area of `/proc/swaps`.
struct SwapArea {
    path: String,
    used_kib: u64,
    priority: i64,
}

impl SwapArea {
    /// `/proc/swaps`: path, type, size and use in KiB, priority. The kernel writes blanks as `\040`: fs/seq_file.c, `mangle_path`.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split_whitespace();
        let path = fields.next()?.replace("\\040", " ");
        let mut numbers = fields.skip(2).map(|field| field.parse::<i64>().unwrap_or(0));
        let (used, priority) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(-1));
        Some(Self { path, used_kib: u64::try_from(used).unwrap_or(0), priority })
    }

    fn is_compressed_memory(&self) -> bool {
        self.path.contains("/zram")
    }

    /// The command that enables it again. Priorities below 0 are assigned by the kernel, and cannot be given.
    fn swapon_command(&self) -> String {
        let path = shell_word(self.path.clone());
        match self.priority {
            priority @ 0.. => format!("sudo swapon -p {priority} {path}"),
            _ => format!("sudo swapon {path}"),
        }
    }
}

/// Of further areas only the number is shown.
const MOST_NAMED: usize = 3;

/// Whether memory can be swapped out.
pub(super) fn swap(root: &Root) -> Option<Finding> {
    let swaps = root.reading("/proc/swaps");
    let areas: Vec<SwapArea> = swaps.text()?.lines().skip(1).filter_map(SwapArea::read).collect();
    let is_compressed = areas.iter().all(SwapArea::is_compressed_memory);
    let first = areas.iter().take(MOST_NAMED).map(|area| area.path.as_str()).collect::<Vec<_>>().join(", ");
    let more = if areas.len() > MOST_NAMED {
        format!(" and {} more", areas.len() - MOST_NAMED)
    } else {
        String::new()
    };
    let found = match (areas.is_empty(), is_compressed) {
        (true, _) => "there is no swap".to_owned(),
        (_, true) => format!("memory can be compressed ({first}{more})"),
        _ => format!("memory can be swapped out to {first}{more}"),
    };
    let verdict = if areas.is_empty() { Verdict::Good } else { Verdict::Note };
    let meminfo = root.reading("/proc/meminfo").lines(|line| line.starts_with("MemAvailable:"));
    let draft =
        finding(FindingId::Swap, verdict, found).evidence(&swaps).evidence(&root.reading(SWAPPINESS_FILE));
    let draft = draft.when(!areas.is_empty(), |draft| draft.evidence(&meminfo)).why(if is_compressed && !areas.is_empty() {
        "A page that was compressed is unpacked when it is touched, and the thread waits. Locked memory (mlockall) stays."
    } else {
        "A page that was swapped out is read back when it is touched, and the thread waits. Locked \
            memory (mlockall) stays."
    });
    let used: u64 = areas.iter().map(|area| area.used_kib).fold(0, u64::saturating_add);
    let available = meminfo.text().and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let fits = available.is_none_or(|available| used < available / 2);
    let add_remedy = |draft: FindingDraft| match fits {
        true => areas
            .iter()
            .map(SwapArea::swapon_command)
            .fold(draft.apply("sudo swapoff -a"), FindingDraft::undo),
        false => {
            let mib = |kib: u64| kib >> 10;
            let advice = format!(
                "leave it on: {} MiB are out, and {} MiB are free for them; lock the memory of the program that matters (mlockall)",
                mib(used),
                mib(available.unwrap_or(0))
            );
            draft.apply(advice).undo("munlockall()")
        }
    };
    Some(draft.when(!areas.is_empty(), add_remedy).finish())
}

/// Whether equal pages of several programs are merged (KSM): a write to such a page waits for a copy.
///
/// Source: Documentation/admin-guide/mm/ksm.rst.
pub(super) fn same_page_merging(root: &Root) -> Option<Finding> {
    let run = root.reading(SAME_PAGE_MERGING_FILE);
    let sharing = root.reading("/sys/kernel/mm/ksm/pages_sharing");
    if run.text()? != "1" {
        return None;
    }
    let draft = finding(FindingId::SamePageMerging, Verdict::Note, "equal pages of memory are merged (KSM)");
    let draft = draft.evidence(&run).evidence(&sharing).why(
        "Who writes to a merged page takes a page fault and waits for a copy. Only memory for which a program has asked is merged: that \
         of guests, mostly.",
    );
    Some(draft.setting(root, "same_page_merging").finish())
}

/// Whether the kernel unmaps pages periodically to find out which node uses them.
pub(super) fn numa_balancing(root: &Root) -> Option<Finding> {
    let nodes = read_cpu_list(root, "/sys/devices/system/node/online");
    let reading = root.reading(NUMA_BALANCING_FILE);
    let now = reading.text().filter(|_| nodes.len() > 1)?.to_owned();
    let on = now != "0";
    let verdict = if on { Verdict::Costs } else { Verdict::Good };
    let found = if on { "NUMA balancing is on" } else { "NUMA balancing is off" };
    let draft = finding(FindingId::NumaBalancing, verdict, found).evidence(&reading).why(
        "To find out which node uses a page, the kernel unmaps it; the next access takes a page fault, \
            and the page may be copied.",
    );
    Some(draft.when(on, |draft| draft.setting(root, "numa_balancing")).finish())
}
