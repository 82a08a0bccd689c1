//! One booted guest, from the host's side.

use std::collections::VecDeque;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use howlate_linux::clock;
use howlate_model::{Accelerator, Caveat, HostThread, Line, MonotonicTime, Span, VcpuTime};

use crate::emulator::{Acceleration, TcgThreads, kvm_opens};
use crate::emulator_process::{Arrival, EmulatorProcess};
use crate::error::GuestError;
use crate::protocol::{CommandEnd, GuestMessage};
use crate::setup::GuestSetup;
use crate::vcpu_threads::HostTimes;

/// Lines of the console that an error shows.
const CONSOLE_KEPT: usize = 12;

/// A guest on a processor of its own prints within a second; one that has not printed anything
/// after this long does not get anywhere on KVM.
const SIGN_OF_LIFE: Span = Span::from_secs(10);

/// How often a guest is started again whose kernel faulted while it booted, on an emulator that may make it fault.
const MOST_RESTARTS: u32 = 2;

/// How a kernel counts the faults of its own code: a panic without one has another reason, such as a missing program.
/// Source: `__die_header` in arch/x86/kernel/dumpstack.c.
const FIRST_FAULT: &str = "[#1]";

/// Time for a guest to switch itself off after its last line.
const SWITCH_OFF: Span = Span::from_secs(20);

/// Longest wait for an event; then [`GuestEvent::Nothing`] is returned.
const LONGEST_WAIT: Duration = Duration::from_millis(200);

/// What comes from a guest.
#[derive(Debug)]
pub enum GuestEvent {
    /// A line of its recording.
    Line(Box<Line>),
    /// Its command ended with this status; all lines have come.
    Over {
        exit_status: i32,
        /// Standard error.
        stderr: String,
        /// What it printed, where that is its result.
        printed: String,
    },
    /// It got nowhere on KVM and was started again with an emulated CPU.
    FellBack {
        /// What failed with KVM.
        reason: String,
    },
    /// Its kernel faulted while it booted, as it may on this emulator, and it was started again.
    Restarted {
        /// The kernel's first line about it; empty where there was none.
        fault: String,
    },
    /// Nothing for a moment.
    Nothing,
}

/// A running guest; ended when dropped.
pub struct Guest<'a> {
    setup: GuestSetup<'a>,
    emulator: EmulatorProcess,
    /// Why KVM failed, until it is reported.
    fell_back: Option<String>,
    console: VecDeque<String>,
    /// The line of a kernel panic, which may not be among the last lines.
    panic: Option<String>,
    /// The kernel's first line about a fault of a CPU in its own code.
    fault: Option<String>,
    restarts: u32,
    last_error_line: String,
    began: MonotonicTime,
    /// When it last sent something; `None` before the first time.
    last_line: Option<MonotonicTime>,
    before: HostTimes,
    now: HostTimes,
}

impl<'a> Guest<'a> {
    /// Starts QEMU, applies the settings to its threads, and lets the guest run.
    ///
    /// # Errors
    ///
    /// When QEMU is missing or does not start.
    pub fn boot(setup: GuestSetup<'a>) -> Result<Self, GuestError> {
        let machine = setup.machine;
        if machine.acceleration == Acceleration::Only(Accelerator::Kvm) {
            kvm_opens()?;
        }
        let accelerator = machine.acceleration.first(machine.architecture);
        let (emulator, fell_back) = match EmulatorProcess::start(&setup, accelerator) {
            Err(error) if accelerator == Accelerator::Kvm && machine.acceleration == Acceleration::Auto => {
                (EmulatorProcess::start(&setup, Accelerator::Tcg)?, Some(error.to_string()))
            }
            other => (other?, None),
        };
        let (console, last_error_line) = (VecDeque::new(), String::new());
        let (before, now) = (HostTimes::default(), HostTimes::default());
        Ok(Self {
            setup,
            emulator,
            fell_back,
            console,
            panic: None,
            fault: None,
            restarts: 0,
            last_error_line,
            began: clock::now(),
            last_line: None,
            before,
            now,
        })
    }

    /// What comes next; waits a moment at most.
    ///
    /// # Errors
    ///
    /// When the guest has ended before its time, or a deadline has passed.
    pub fn wait(&mut self) -> Result<GuestEvent, GuestError> {
        if let Some(reason) = self.fell_back.take() {
            return Ok(GuestEvent::FellBack { reason });
        }
        match self.emulator.arrivals.recv_timeout(LONGEST_WAIT) {
            Ok(Arrival::Console(line)) => self.keep_console(line),
            Ok(Arrival::ErrorLine(line)) => self.last_error_line = line,
            Ok(Arrival::Result(line)) => return self.result(&line),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) if self.may_fall_back() => {
                return self.fall_back(format!("QEMU ended: {}", self.last_error_line));
            }
            Err(RecvTimeoutError::Disconnected) => return self.end(),
        }
        self.check_deadlines()
    }

    /// Of an emulator that has ended: its guest is started again, or this is the end of it.
    fn end(&mut self) -> Result<GuestEvent, GuestError> {
        let signal = self.emulator.killed_by();
        if signal.is_none() && self.may_restart() {
            return self.restart();
        }
        let (stderr, console) = (self.last_error_line.clone(), self.last_lines());
        Err(GuestError::Died { signal, stderr, console })
    }

    fn keep_console(&mut self, line: String) {
        if line.contains("Kernel panic") {
            self.panic.get_or_insert_with(|| line.clone());
        }
        if line.contains(FIRST_FAULT) {
            self.fault.get_or_insert_with(|| line.trim().to_owned());
        }
        if self.console.len() == CONSOLE_KEPT {
            self.console.pop_front();
        }
        self.console.push_back(line);
    }

    fn last_lines(&self) -> Vec<String> {
        let panic = self.panic.iter().filter(|line| !self.console.contains(line));
        panic.chain(&self.console).cloned().collect()
    }

    fn result(&mut self, line: &str) -> Result<GuestEvent, GuestError> {
        let message = GuestMessage::parse(line).map_err(GuestError::Json)?;
        let ledger = HostTimes::read(&self.emulator.vcpus);
        if self.last_line.is_none() {
            self.before = ledger.clone().unwrap_or_default();
        }
        self.now = ledger.unwrap_or_else(|| self.now.clone());
        self.last_line = Some(clock::now());
        Ok(match message {
            GuestMessage::Line(line) => GuestEvent::Line(line),
            GuestMessage::Alive => GuestEvent::Nothing,
            GuestMessage::Over(CommandEnd { exit_status, stderr, printed }) => {
                GuestEvent::Over { exit_status, stderr, printed }
            }
        })
    }

    fn check_deadlines(&mut self) -> Result<GuestEvent, GuestError> {
        let now = clock::now();
        let GuestSetup { boot_deadline, hang_deadline, .. } = self.setup;
        match self.last_line {
            Some(last) if now.since(last) > hang_deadline => Err(GuestError::Hung {
                after: hang_deadline,
                cpus: self.got_since_last_line(),
                console: self.last_lines(),
            }),
            Some(_) => Ok(GuestEvent::Nothing),
            None if self.may_fall_back() && now.since(self.began) > SIGN_OF_LIFE => {
                self.fall_back(format!("the guest showed no sign of life within {SIGN_OF_LIFE}"))
            }
            None if now.since(self.began) > boot_deadline => {
                Err(GuestError::NotBooted { after: boot_deadline, console: self.last_lines() })
            }
            None => Ok(GuestEvent::Nothing),
        }
    }

    fn got_since_last_line(&self) -> Vec<VcpuTime> {
        HostTimes::read(&self.emulator.vcpus).map(|now| now.vcpus_since(&self.now)).unwrap_or_default()
    }

    /// Whether it made no progress on KVM, and may be started with emulation.
    fn may_fall_back(&self) -> bool {
        self.emulator.accelerator == Accelerator::Kvm
            && self.setup.machine.acceleration == Acceleration::Auto
            && self.console.is_empty()
            && self.last_line.is_none()
    }

    fn fall_back(&mut self, reason: String) -> Result<GuestEvent, GuestError> {
        self.emulator = EmulatorProcess::start(&self.setup, Accelerator::Tcg)?;
        self.began = clock::now();
        Ok(GuestEvent::FellBack { reason })
    }

    /// Whether it ended before it measured in a way for which its emulator may be to blame.
    fn may_restart(&self) -> bool {
        self.emulator.accelerator == Accelerator::Tcg
            && self.setup.machine.tcg_threads == TcgThreads::PerCpuUnlocked
            && self.last_line.is_none()
            && self.restarts < MOST_RESTARTS
            && is_fault(self.panic.as_deref(), self.fault.as_deref(), &self.last_error_line)
    }

    fn restart(&mut self) -> Result<GuestEvent, GuestError> {
        self.emulator = EmulatorProcess::start(&self.setup, Accelerator::Tcg)?;
        self.began = clock::now();
        self.restarts += 1;
        self.console.clear();
        self.panic = None;
        Ok(GuestEvent::Restarted { fault: self.fault.take().unwrap_or_default() })
    }

    /// What runs its instructions.
    pub fn accelerator(&self) -> Accelerator {
        self.emulator.accelerator
    }

    /// The threads that run its CPUs.
    pub fn vcpus(&self) -> &[HostThread] {
        &self.emulator.vcpus
    }

    /// Whether its CPUs take turns on one thread.
    pub fn shares_a_thread(&self) -> bool {
        self.vcpus().len() < self.setup.machine.cpus as usize
    }

    /// The emulator's main thread.
    pub fn emulator(&self) -> &HostThread {
        &self.emulator.emulator
    }

    /// Settings that could not be applied.
    pub fn caveats(&self) -> &[Caveat] {
        &self.emulator.caveats
    }

    /// How long it has been running.
    pub fn age(&self) -> Span {
        clock::now().since(self.began)
    }

    /// CPU time denied to the host while the guest measured, where it is known.
    pub fn host_steal(&self) -> Option<Span> {
        self.now.steal_since(&self.before)
    }

    /// What the guest's CPUs got of the host while it measured.
    pub fn vcpu_times(&self) -> Vec<VcpuTime> {
        self.now.vcpus_since(&self.before)
    }

    /// Waits until it has switched itself off, or ends it.
    pub fn switch_off(mut self) {
        let deadline = clock::now().plus(SWITCH_OFF);
        while clock::now() < deadline && !self.emulator.has_ended() {
            drop(clock::sleep_for(Span::from_millis(20)));
        }
    }
}

/// Whether a guest ended by a fault of a CPU in its kernel's code. A fault while a fault is handled resets the machine, without a word.
fn is_fault(panic: Option<&str>, fault: Option<&str>, qemu_said: &str) -> bool {
    qemu_said.is_empty() && (fault.is_some() || panic.is_none())
}

#[cfg(test)]
mod tests {
    use super::is_fault;

    #[test]
    fn a_panic_without_a_fault_is_the_kernels_own() {
        let int3 = Some("int3: 0000 [#1] PREEMPT SMP PTI");
        let panics = [
            Some("Kernel panic - not syncing: Fatal exception"),
            Some("Kernel panic - not syncing: No init"),
        ];
        assert!(is_fault(panics[0], int3, ""));
        assert!(is_fault(None, None, ""), "reset");
        assert!(!is_fault(panics[1], None, ""));
        assert!(!is_fault(None, None, "qemu-system-x86_64: cannot set up guest memory"));
    }
}
