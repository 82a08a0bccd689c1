//! Which kernel runs, and how it preempts itself.

use howlate_procfs::{Kernel, Root};

use crate::kernel_config::KernelConfig;

/// The preemption model that the build string names. Kernels built without
/// preemption name none.
fn named_preemption(kernel: &Kernel) -> Option<&'static str> {
    let build = kernel.build.replace("PREEMPT RT", "PREEMPT_RT");
    let named = |model: &&str| build.split([' ', ',', '(', ')']).any(|word| word == *model);
    ["PREEMPT_RT", "PREEMPT_DYNAMIC", "PREEMPT_LAZY", "PREEMPT"].into_iter().find(named)
}

/// The preemption model of the build.
pub(crate) fn preemption(root: &Root) -> Option<String> {
    let built = || {
        let config = KernelConfig::read(root);
        let options = ["PREEMPT_RT", "PREEMPT_VOLUNTARY", "PREEMPT_NONE", "PREEMPT_LAZY", "PREEMPT"];
        options.into_iter().find(|model| config.value(&format!("CONFIG_{model}")) == Some("y"))
    };
    let named = named_preemption(&Kernel::read(root));
    let model = if Kernel::is_realtime(root) { Some("PREEMPT_RT") } else { named };
    model.or_else(built).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_build_string_names_the_model() {
        for (build, model) in [
            ("#1 SMP PREEMPT_RT Debian 6.12.48-1 (2025-09-20)", Some("PREEMPT_RT")),
            ("#1 SMP PREEMPT RT Thu Mar 4", Some("PREEMPT_RT")),
            ("#1 SMP PREEMPT_DYNAMIC @0", Some("PREEMPT_DYNAMIC")),
            ("#57-Ubuntu SMP", None),
        ] {
            let kernel = Kernel { release: "6.1".into(), build: build.into() };
            assert_eq!(named_preemption(&kernel), model, "{build}");
        }
    }
}
