//! Plans of any operation.

use core::fmt;
use std::sync::Arc;

use super::Plan;
use crate::MergePlan;

/// A plan of any operation: what ran, for whoever has to say so.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnyPlan {
    /// Of attention.
    Forward(Arc<Plan>),
    /// Of a merge.
    Merge(Arc<MergePlan>),
}

impl AnyPlan {
    /// Whether both are the same plan, not only alike.
    #[cfg(feature = "cuda")]
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Forward(one), Self::Forward(other)) => Arc::ptr_eq(one, other),
            (Self::Merge(one), Self::Merge(other)) => Arc::ptr_eq(one, other),
            (Self::Forward(_), Self::Merge(_)) | (Self::Merge(_), Self::Forward(_)) => false,
        }
    }
}

impl From<&Arc<Plan>> for AnyPlan {
    fn from(plan: &Arc<Plan>) -> Self {
        Self::Forward(Arc::clone(plan))
    }
}

impl From<&Arc<MergePlan>> for AnyPlan {
    fn from(plan: &Arc<MergePlan>) -> Self {
        Self::Merge(Arc::clone(plan))
    }
}

impl fmt::Display for AnyPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forward(plan) => plan.fmt(f),
            Self::Merge(plan) => plan.fmt(f),
        }
    }
}
