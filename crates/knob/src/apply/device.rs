//! Several parameters of one network device in one request: drivers check them against one another.
use powerband_machine::{Acted, Action, Coalescing, CoalescingPlace, Turn};

use super::{Reached, Run, failure};
use crate::catalogue::nic::has_carrier;
use crate::landed::judge;
use crate::plan::Move;
use crate::{KnobError, Landed, Named};

/// One request as it is put together.
#[derive(Default)]
struct Request {
    steps: Vec<Move>,
    values: Coalescing,
    undo: Coalescing,
    before: Vec<Option<String>>,
}

impl Request {
    /// The error of a refusal: of the knob the kernel named, or of all of them.
    fn refused(&self, acted: &Acted) -> Option<KnobError> {
        let words = acted.words.as_deref().unwrap_or_default();
        let is_named = |step: &&Move| words.ends_with(&format!(": {}", step.named.knob.about().short));
        let (blamed, others) = match self.steps.iter().find(is_named) {
            Some(step) => (step, &[][..]),
            None => self.steps.split_last()?,
        };
        let others: String = others.iter().map(|step| format!("{}={} ", step.named.name, step.value)).collect();
        let named = Named { knob: blamed.named.knob, name: others + &blamed.named.name };
        let landed = judge(&named, &blamed.value, None, acted);
        failure(&named, &blamed.value, &blamed.site, &landed)
    }
}

impl Run<'_> {
    /// Notes that a device is about to be turned, if its link is up.
    pub(super) fn note_link(&mut self, device: &str) {
        if !self.applied.links.iter().any(|known| known == device) && has_carrier(self.machine, device) {
            self.applied.links.push(device.to_owned());
        }
    }

    /// Turns knobs of one device, all or none of them.
    pub(super) fn turn_together(&mut self, steps: Vec<Move>) -> Result<(), KnobError> {
        let Some(device) = steps.first().map(|step| step.site.name.clone()) else { return Ok(()) };
        let mut request = Request::default();
        for step in steps {
            self.gather(&mut request, step)?;
        }
        if request.steps.is_empty() {
            return Ok(());
        }
        self.note_link(&device);
        let turn = self.together(&device, &request);
        let acted = self.act(&turn)?;
        if acted.errno.is_some() {
            let (before, reads) = (turn.before.text(), acted.reads_back.as_deref());
            return request.refused(&acted).map_or(Ok(()), |error| Err(error.changed(before, reads)));
        }
        let values: Vec<&str> = acted.reads_back.iter().flat_map(|text| text.split_whitespace()).collect();
        for (place, (step, before)) in request.steps.into_iter().zip(request.before).enumerate() {
            let reads_back = values.get(place).map(|&value| value.to_owned());
            let alone = Acted { words: acted.words.clone(), reads_back: reads_back.clone(), ..acted };
            let Move { named, value, site, .. } = step;
            let landed = judge(&named, &value, before.as_deref(), &alone);
            if let Some(error) = failure(&named, &value, &site, &landed) {
                return Err(error);
            }
            self.applied.sites.push(Reached { named, site, asked: value, before, reads_back, landed });
        }
        Ok(())
    }

    /// Adds a knob to the request, unless it is so already.
    fn gather(&mut self, request: &mut Request, step: Move) -> Result<(), KnobError> {
        let Move { named, value, site, .. } = &step;
        let turning = named.knob.turn(value, self.machine, site).map_err(|errno| KnobError::Unreadable {
            knob: named.name.clone(),
            path: site.path.clone().unwrap_or_default(),
            errno,
        })?;
        let before = turning.before;
        if before.as_ref().is_some_and(|before| named.knob.same(value, before)) {
            let Move { named, value, site, .. } = step;
            let (reads_back, landed) = (before.clone(), Landed::Already);
            self.applied.sites.push(Reached { named, site, asked: value, before, reads_back, landed });
            return Ok(());
        }
        if let (Action::Coalesce { values, .. }, Some(Action::Coalesce { values: undo, .. })) =
            (turning.action, turning.undo)
        {
            request.values.0.extend(values.0);
            request.undo.0.extend(undo.0);
        }
        request.before.push(before);
        request.steps.push(step);
        Ok(())
    }

    fn together(&self, device: &str, request: &Request) -> Turn {
        let all = |words: &dyn Fn(&Move) -> String, between: &str| {
            request.steps.iter().map(words).collect::<Vec<_>>().join(between)
        };
        let before: Option<Vec<&str>> = request.before.iter().map(Option::as_deref).collect();
        let coalesce = |values: &Coalescing| Action::Coalesce { device: device.to_owned(), values: values.clone() };
        let names = request.steps.iter().map(|step| step.named.knob.about().short).collect();
        Turn {
            action: coalesce(&request.values),
            undo: Some(coalesce(&request.undo)),
            hold: self.hold,
            knob: all(&|step| step.named.name.clone(), ", "),
            site: device.to_owned(),
            asked: all(&|step| step.value.typed(), " "),
            before: before.map(|before| before.join(" ")).into(),
            read_back: Some(CoalescingPlace { device, names }.to_string()),
            step: self.step,
            moves: std::collections::BTreeMap::new(),
        }
    }
}
