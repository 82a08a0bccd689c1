//! One CPU: its siblings, its governor and its idle states.

use howlate_model::{Cpu, CpuSet, IdleState};
use howlate_procfs::{Root, governor, numa_node, read_cpu_list, siblings};

pub(super) fn cpu(root: &Root, number: u32) -> Cpu {
    let directory = format!("/sys/devices/system/cpu/cpu{number}");
    Cpu {
        number,
        siblings: siblings(root, number),
        cache: last_level_cache(root, &directory),
        node: numa_node(root, number),
        governor: governor(root, number).content.ok(),
        idle_states: idle_states(root, number),
    }
}

/// The CPUs behind the cache of the highest level: `cache/indexN/shared_cpu_list`.
fn last_level_cache(root: &Root, directory: &str) -> CpuSet {
    let caches =
        root.list(&format!("{directory}/cache")).into_iter().filter(|name| name.starts_with("index"));
    let level = |cache: &String| -> Option<u32> {
        root.read(&format!("{directory}/cache/{cache}/level")).ok()?.parse().ok()
    };
    let last = caches.max_by_key(level);
    let list = last.map(|cache| read_cpu_list(root, &format!("{directory}/cache/{cache}/shared_cpu_list")));
    list.unwrap_or_default()
}

/// The idle states of a CPU, shallowest first, as the kernel numbers them.
pub(crate) fn idle_states(root: &Root, cpu: u32) -> Vec<IdleState> {
    let directory = format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle");
    let states = root.list(&directory).into_iter().filter(|name| name.starts_with("state"));
    states.map(|state| idle_state(root, &format!("{directory}/{state}"))).collect()
}

fn idle_state(root: &Root, directory: &str) -> IdleState {
    let number = |name: &str| {
        let text = root.read(&format!("{directory}/{name}")).ok();
        text.and_then(|text| text.parse().ok()).unwrap_or(0)
    };
    IdleState {
        name: root.read(&format!("{directory}/name")).unwrap_or_default(),
        exit_latency_us: number("latency"),
        residency_us: number("residency"),
        disabled: number("disable") != 0,
    }
}
