//! Vector clocks: what has happened before, for every component of a cluster.

/// For each component, up to which of its times its actions have happened before. Components are
/// numbered as they appear; what a clock does not know of is at time 0, before any action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// The time of a component.
    pub fn get(&self, component: u32) -> u32 {
        self.0.get(component as usize).copied().unwrap_or(0)
    }

    /// Whether what `component` did at `time` has happened before.
    #[inline]
    pub fn includes(&self, component: u32, time: u32) -> bool {
        self.get(component) >= time
    }

    /// What `component` did until `time` has happened before.
    pub fn raise(&mut self, component: u32, time: u32) {
        let index = component as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        if let Some(slot) = self.0.get_mut(index) {
            *slot = time.max(*slot);
        }
    }

    /// What has happened before `other` has happened before this, too.
    pub fn join(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own = (*own).max(*other));
    }

    /// Keeps what has happened before `other`, too.
    pub fn meet(&mut self, other: &Self) {
        self.0.truncate(other.0.len());
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own = (*own).min(*other));
    }
}

/// What is known at a point of a warp's execution, and what a barrier hands on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// What has happened before.
    pub seen: Clock,
    /// Of that, what a proxy fence has followed: generic writes that the asynchronous proxy sees
    /// (PTX ISA, "membar, fence", `.proxy.async`).
    pub fenced: Clock,
    /// Initialisations of mbarriers that `fence.mbarrier_init` has published.
    pub published: Clock,
}

impl View {
    /// Adds what another knows.
    pub fn join(&mut self, other: &Self) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
        self.published.join(&other.published);
    }

    /// Keeps what another knows, too.
    pub fn meet(&mut self, other: &Self) {
        self.seen.meet(&other.seen);
        self.fenced.meet(&other.fenced);
        self.published.meet(&other.published);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock() -> impl Strategy<Value = Clock> {
        prop::collection::vec(0_u32..9, 0..6).prop_map(Clock)
    }

    #[test]
    fn unknown_components_are_at_time_zero() {
        let mut clock = Clock::default();
        assert!(clock.includes(7, 0) && !clock.includes(7, 1));
        clock.raise(7, 3);
        clock.raise(7, 2);
        assert_eq!((clock.get(7), clock.get(6), clock.get(8)), (3, 0, 0));
    }

    proptest! {
        #[test]
        fn joins_and_meets_are_bounds(a in clock(), b in clock(), component in 0_u32..8) {
            let (mut join, mut meet) = (a.clone(), a.clone());
            join.join(&b);
            meet.meet(&b);
            prop_assert_eq!(join.get(component), a.get(component).max(b.get(component)));
            prop_assert_eq!(meet.get(component), a.get(component).min(b.get(component)));
        }
    }
}
