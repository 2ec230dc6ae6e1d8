//! Which asynchronous operations of a thread or a warp a `wait_group` waits for.

use std::collections::VecDeque;

/// The bulk groups of a thread (PTX ISA, "cp.async.bulk.commit_group", "cp.async.bulk.wait_group").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct BulkGroups {
    committed: u64,
}

impl BulkGroups {
    /// The number of the group of a copy that begins.
    pub(super) const fn open(&self) -> u64 {
        self.committed
    }

    /// What has begun since the last is a group.
    pub(super) fn commit(&mut self) {
        self.committed += 1;
    }

    /// The number below which a wait wants every group to be done, if it leaves `pending`.
    pub(super) fn wanted(&self, pending: u32) -> u64 {
        self.committed.saturating_sub(pending.into())
    }
}

/// The groups of products of a warp (PTX ISA, "wgmma.commit_group", "wgmma.wait_group").
///
/// Products are numbered in the order in which the warpgroup issues them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct ProductGroups {
    /// For each group that no wait has found complete, how many products were issued until its end.
    ends: VecDeque<u64>,
}

impl ProductGroups {
    /// What was issued since the last is a group, `issued` products in all.
    pub(super) fn commit(&mut self, issued: u64) {
        self.ends.push_back(issued);
    }

    /// How many products a wait wants to be complete, if it leaves `pending` groups.
    pub(super) fn wanted(&self, pending: u32) -> u64 {
        let done = self.ends.len().saturating_sub(pending as usize);
        done.checked_sub(1).and_then(|last| self.ends.get(last)).copied().unwrap_or(0)
    }

    /// A wait that leaves `pending` groups is over.
    pub(super) fn found(&mut self, pending: u32) {
        self.ends.drain(..self.ends.len().saturating_sub(pending as usize));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_wants_all_bulk_groups_but_the_last() {
        let mut groups = BulkGroups::default();
        assert_eq!(groups.open(), 0);
        groups.commit();
        groups.commit();
        assert_eq!(groups.open(), 2, "which no wait waits for");
        assert_eq!([0, 1, 2, 3].map(|pending| groups.wanted(pending)), [2, 1, 0, 0]);
    }

    #[test]
    fn a_wait_wants_all_products_but_those_of_the_last_groups() {
        let mut groups = ProductGroups::default();
        assert_eq!(groups.wanted(0), 0);
        groups.commit(4);
        groups.commit(4);
        groups.commit(9);
        assert_eq!([0, 1, 2, 3].map(|pending| groups.wanted(pending)), [9, 4, 4, 0]);
        groups.found(1);
        assert_eq!((groups.wanted(1), groups.wanted(0)), (0, 9));
        groups.found(0);
        assert_eq!(groups.wanted(0), 0);
    }
}
