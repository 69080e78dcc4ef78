//! The scheduler's side: what runs where, kept as utilisation signals for schedutil and for the load window.
use super::Cpufreq;
use super::config::KernelRules;
use super::pelt::SchedTask;

impl Cpufreq {
    /// The fair task that runs on `cpu` from now on, `None` for an idle CPU (counts as an entry into idle).
    /// `task` is a small dense number of the engine's choice, the same wherever the task goes.
    pub fn current(&mut self, cpu: u32, task: Option<u32>, now_ns: u64) {
        if self.config.rules != KernelRules::V6_1 || cpu as usize >= self.cpus.len() {
            return;
        }
        let queue = &mut self.cpus[cpu as usize].queue;
        queue.update(now_ns);
        let before = std::mem::replace(&mut queue.task, task);
        if self.follows_tasks && before != task {
            if let Some(before) = before {
                self.settle(before, cpu, true, now_ns);
            }
            if let Some(task) = task {
                self.settle(task, cpu, false, now_ns);
            }
        }
        let queue = &mut self.cpus[cpu as usize].queue;
        if task.is_some() && queue.is_idle() {
            queue.woken_ns = now_ns;
            if self.config.keeps_tick && !self.config.ticked(queue.idle_since_ns, now_ns) {
                queue.idle_entries = queue.idle_entries.saturating_sub(1);
            }
        }
        let was_idle = queue.is_idle();
        queue.set_running(task.is_some(), now_ns);
        if task.is_some() && before != task {
            queue.switched(was_idle, u64::from(self.config.switch_in_ns));
        }
    }

    /// `task` became runnable on `cpu`, from sleep or from another CPU. Only needed where schedutil is built in, cheap otherwise.
    pub fn enqueued(&mut self, cpu: u32, task: u32, now_ns: u64) {
        if !self.follows_tasks || cpu as usize >= self.cpus.len() {
            return;
        }
        self.cpus[cpu as usize].queue.update(now_ns);
        self.settle(task, cpu, false, now_ns);
        self.tasks[task as usize].enqueue(&mut self.cpus[cpu as usize].queue);
    }

    /// `task` left `cpu`'s queue, to sleep or (not `sleeps`) to move elsewhere. Call it before [`Cpufreq::current`]
    /// names its successor. Only needed where schedutil is built in, cheap otherwise.
    pub fn dequeued(&mut self, cpu: u32, task: u32, sleeps: bool, now_ns: u64) {
        if !self.follows_tasks || cpu as usize >= self.cpus.len() {
            return;
        }
        let queue = &mut self.cpus[cpu as usize].queue;
        queue.update(now_ns);
        let ran = queue.task.take_if(|t| *t == task).is_some();
        self.settle(task, cpu, ran, now_ns);
        let queue = &mut self.cpus[cpu as usize].queue;
        let capacity = queue.capacity();
        self.tasks[task as usize].dequeue(queue, ran, sleeps, capacity);
    }

    /// Utilisation of a CPU's fair tasks as tracked, 0..=1024, up to the end of the last load window.
    #[must_use]
    pub fn tracked_util(&self, cpu: u32) -> u32 {
        self.cpus.get(cpu as usize).map_or(0, |c| c.queue.util())
    }

    /// A tick came: the utilisation of the task that runs is worked out anew, if a window of its has ended.
    pub(super) fn ticked(&mut self, cpu: u32, now_ns: u64) {
        if let Some(task) = self.cpus[cpu as usize].queue.task.filter(|_| self.follows_tasks) {
            self.cpus[cpu as usize].queue.update(now_ns);
            self.settle(task, cpu, true, now_ns);
        }
    }

    /// Brings a task's signal to the present of `cpu`, whose queue is there; it `ran` since the last time, or waited or
    /// slept, perhaps elsewhere.
    #[inline]
    fn settle(&mut self, task: u32, cpu: u32, ran: bool, now_ns: u64) {
        match self.tasks.get_mut(task as usize) {
            Some(task) if task.cpu() == Some(cpu) => task.update(&self.cpus[cpu as usize].queue, ran),
            _ => self.settle_elsewhere(task, cpu, now_ns),
        }
    }

    /// The same of a task that was on another CPU, or is new.
    #[inline(never)]
    fn settle_elsewhere(&mut self, task: u32, cpu: u32, now_ns: u64) {
        let index = task as usize;
        if index >= self.tasks.len() {
            self.tasks.resize(index + 1, SchedTask::default());
        }
        if let Some(before) = self.tasks[index].cpu() {
            let queue = &mut self.cpus[before as usize].queue;
            queue.update(now_ns);
            self.tasks[index].update(queue, false);
        }
        self.tasks[index].move_to(cpu, &self.cpus[cpu as usize].queue);
    }
}
