//! `howlate guest`

mod errand;
mod kinds;
mod merged;
mod rounds;
mod verdict;

use howlate_guest::{
    Architecture, GuestError, HostSettings, Kernel, Machine, Program, emulator_version, libvirt_xml,
};
use howlate_model::HowEnded;
use howlate_record::Writer;
use howlate_render as render;

use self::kinds::kinds;
use self::rounds::Rounds;
use super::judge;
use crate::cli::{Guest, without_repeats};
use crate::error::Error;
use crate::session::Surroundings;
use crate::status::Status;
use crate::terminal;

pub(crate) fn run(asked: &Guest) -> Result<Status, Error> {
    if asked.libvirt_xml {
        terminal::print(&libvirt_xml(&settings(asked), asked.cpus))?;
        return Ok(Status::Done);
    }
    let (errand, limits) = errand::prepare(&asked.command)?;
    asked.out.as_deref().map(Writer::check).transpose()?;
    let machine = machine(asked);
    let qemu = emulator_version(&machine)?;
    let program = program(asked, machine.architecture)?;
    let find = |kernel| Kernel::find(kernel, machine.architecture, &mut |text| terminal::say(text));
    let kernels = without_repeats(&asked.kernel).iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let kinds = kinds(&kernels, asked);
    kinds.iter().try_for_each(|one| howlate_load::check(&one.kind.on_host.load))?;
    let around = Surroundings::begin()?;
    let mut rounds = Rounds { asked, machine, qemu, program, errand, kinds, around: &around, merged: None };
    let trouble = rounds.take();
    let Some(merged) = rounds.merged else {
        return trouble.map(|_| Status::NotTrustworthy);
    };
    let how = trouble.as_ref().copied().unwrap_or(HowEnded::Interrupted);
    let track = merged.end(trouble.is_ok().then_some(how));
    let text = if asked.json { render::json(&track.analysis)? } else { verdict::report(&track) };
    terminal::print(&text)?;
    let status = judge(&track.analysis, &limits);
    match trouble {
        Ok(_) => Ok(status),
        Err(error) => {
            terminal::say(&error.message());
            Ok(status.max(Status::NotTrustworthy))
        }
    }
}

fn machine(asked: &Guest) -> Machine {
    Machine {
        architecture: asked.arch.unwrap_or(Architecture::HERE),
        cpus: asked.cpus,
        memory: asked.memory.0,
        acceleration: asked.accel,
        append: asked.append.clone(),
    }
}

/// What does not differ between kinds of guests.
fn settings(asked: &Guest) -> HostSettings {
    HostSettings {
        vcpu_policy: asked.vcpu_policy.first().copied(),
        emulator_policy: asked.emulator_policy,
        vcpu_pin: asked.vcpu_pin.clone(),
    }
}

fn program(asked: &Guest, architecture: Architecture) -> Result<Program, GuestError> {
    match &asked.program {
        Some(path) => Program::from_file(path, architecture),
        None if architecture == Architecture::HERE => Program::running(),
        None => Err(GuestError::NoProgram { wanted: architecture }),
    }
}
