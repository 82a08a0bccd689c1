//! `howlate guest`: measures in virtual machines.

mod command;
mod list;
mod printing;

use howlate_guest::{
    Architecture, GuestError, GuestKernel, GuestProgram, HostSettings, TcgThreads, VirtualMachine,
    emulator_version, libvirt_xml,
};
use howlate_model::EndReason;
use howlate_plan::deduplicate;
use howlate_recording::{HistoryEntry, Writer};
use howlate_render as render;
use howlate_session::{Guests, HostChoices, Rounds};

use self::command::GuestTask;
use self::printing::PrintRun;
use super::end_history;
use crate::error::Error;
use crate::exit_status::{self, ExitStatus};
use crate::startup;
use crate::terminal;
use howlate_cli::GuestArgs;

pub(crate) fn run(args: &GuestArgs) -> Result<ExitStatus, Error> {
    if args.libvirt_xml {
        terminal::print(&libvirt_xml(&host_settings(args), args.vcpus))?;
        return Ok(ExitStatus::Done);
    }
    if args.list {
        return list::run(args);
    }
    let task = command::prepare(&args.command)?;
    args.out.as_deref().map(Writer::check).transpose()?;
    let architecture = args.arch.unwrap_or(Architecture::HERE);
    let qemu = emulator_version(architecture)?;
    let machine = machine(args, architecture, TcgThreads::for_version(&qemu, task.traces()));
    let program = program(args, machine.architecture)?;
    let find = |kernel| GuestKernel::find(kernel, machine.architecture, &mut |text| terminal::eprint(text));
    let kernels = deduplicate(&args.kernel).iter().map(find).collect::<Result<Vec<_>, _>>()?;
    kernels
        .iter()
        .filter(|_| task.traces())
        .filter_map(GuestKernel::traced_with_less)
        .for_each(|warning| terminal::eprint(&warning));
    let kinds = host_choices(args).kinds(&kernels);
    kinds.iter().try_for_each(|kind| howlate_load::check(&kind.on_host.load))?;
    let (rounds, boot_deadline, hang_deadline) = (args.rounds, args.boot_deadline, args.hang_deadline);
    let guests = |command| Guests { program, command, kinds, rounds, boot_deadline, hang_deadline };
    let (guests, limits) = match task {
        GuestTask::Measure(command, limits, _) => (guests(command), limits),
        GuestTask::Print(command, printed) => {
            return PrintRun { args, guests: guests(command), machine, command: printed }.run();
        }
    };
    let mut environment = startup::begin()?;
    environment.node = args.identity.apply(environment.node);
    let history = HistoryEntry::begin("guest", args.out.as_deref(), args.no_save);
    let history_path = history.path();
    let (environment, files) = (&environment, [args.out.as_deref(), history_path.as_deref()]);
    let screen = terminal::screen(args.printing.quiet);
    let mut rounds = Rounds { guests, machine, qemu, environment, files, screen, boots: None };
    let result = rounds.take().map_err(Error::from);
    let Some(boots) = rounds.boots else {
        return result.map(|_| ExitStatus::NotTrustworthy);
    };
    let end = result.as_ref().copied().unwrap_or(EndReason::Interrupted);
    let track = boots.end(result.is_ok().then_some(end));
    let text = if args.printing.json {
        render::json(&track.analysis, &limits)?
    } else {
        render::guests(&track, terminal::width())
    };
    terminal::print_or_json(&text, args.printing.json)?;
    end_history(history, args.printing.quiet);
    let status = exit_status::of_whole_run(&track.analysis, &limits);
    match result {
        Ok(_) => Ok(status),
        Err(error) => {
            terminal::eprint_wrapped(&error.message());
            Ok(status.max(ExitStatus::NotTrustworthy))
        }
    }
}

fn machine(args: &GuestArgs, architecture: Architecture, tcg_threads: TcgThreads) -> VirtualMachine {
    VirtualMachine {
        architecture,
        cpus: args.vcpus,
        memory: args.memory.0,
        acceleration: args.accel,
        tcg_threads,
        append: args.append.clone(),
    }
}

/// Settings of the host while guests run.
fn host_choices(args: &GuestArgs) -> HostChoices {
    HostChoices::new(&args.host_load, &args.vcpu_policy, host_settings(args))
}

/// Number of guests to boot.
pub(crate) fn boots(args: &GuestArgs) -> usize {
    host_choices(args).boots(deduplicate(&args.kernel).len(), args.rounds)
}

/// Settings that all kinds of guests share.
fn host_settings(args: &GuestArgs) -> HostSettings {
    HostSettings {
        vcpu_policy: args.vcpu_policy.first().copied(),
        emulator_policy: args.emulator_policy,
        vcpu_pin: args.vcpu_pin.clone(),
    }
}

fn program(args: &GuestArgs, architecture: Architecture) -> Result<GuestProgram, GuestError> {
    match &args.program {
        Some(path) => GuestProgram::from_file(path, architecture),
        None if architecture == Architecture::HERE => GuestProgram::running(),
        None => Err(GuestError::NoProgram { expected: architecture }),
    }
}
