//! Whether a description is legal.

use crate::Arch;

use super::desc::TensorMapDesc;
use super::error::TensorMapError;
use super::rule::Check;
use super::rules::{ADDRESS_RULES, SHAPE_RULES, Visit, architecture};

impl TensorMapDesc {
    /// Whether the driver takes this map of a tensor at `address`: by the rules that it documents and
    /// those that it enforces besides.
    ///
    /// That the tensor's bytes are allocated is not checked. What an architecture lacks is the
    /// matter of [`supported_on`](Self::supported_on).
    ///
    /// ```
    /// use fa3_sys::tensormap::{DataType, Rule, TensorMapDesc};
    /// let desc = TensorMapDesc::contiguous(DataType::Bf16, &[64, 100], &[64, 16])?;
    /// desc.validate(0x1000)?;
    /// assert_eq!(desc.validate(0x1008).unwrap_err().rule(), Rule::AddressAlignment);
    /// # Ok::<(), fa3_sys::TensorMapError>(())
    /// ```
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate(&self, address: u64) -> Result<(), TensorMapError> {
        self.visit_checks(Some(address), &mut TensorMapError::unless_holds)
    }

    /// [`validate`](Self::validate) without the address.
    ///
    /// # Errors
    /// The first rule that is broken.
    pub fn validate_shape(&self) -> Result<(), TensorMapError> {
        self.visit_checks(None, &mut TensorMapError::unless_holds)
    }

    /// Whether the architecture has the element type and the swizzle.
    ///
    /// ```
    /// use fa3_sys::Arch;
    /// use fa3_sys::tensormap::{DataType, TensorMapDesc};
    /// let desc = TensorMapDesc::contiguous(DataType::U4x16Align8, &[64, 100], &[64, 16])?;
    /// assert!(desc.supported_on(Arch::Sm100a).is_ok());
    /// assert!(desc.supported_on(Arch::Sm90a).is_err());
    /// # Ok::<(), fa3_sys::TensorMapError>(())
    /// ```
    ///
    /// # Errors
    /// [`Rule::Architecture`](super::Rule::Architecture), naming the type or the swizzle.
    pub fn supported_on(&self, arch: Arch) -> Result<(), TensorMapError> {
        architecture(self, arch).into_iter().try_for_each(TensorMapError::unless_holds)
    }

    /// Every check that [`validate`](Self::validate) makes, whether it holds or not, for tools that
    /// show all that is wrong or how near a description is to a limit.
    ///
    /// ```
    /// use fa3_sys::tensormap::{DataType, Rule, TensorMapDesc};
    /// let desc = TensorMapDesc::tiled(DataType::Bf16, &[64, 100], &[130], &[300, 16])?;
    /// let broken = desc.checks(0x1001).into_iter().filter(|check| !check.holds());
    /// assert_eq!(
    ///     broken.map(|check| check.to_string()).collect::<Vec<_>>(),
    ///     ["globalAddress = 4097", "globalStrides[0] = 130", "boxDim[0] = 300", "boxDim[0] = 300"],
    /// );
    /// # Ok::<(), fa3_sys::TensorMapError>(())
    /// ```
    pub fn checks(&self, address: u64) -> Vec<Check> {
        let mut checks = Vec::new();
        let visited = self.visit_checks(Some(address), &mut |check| {
            checks.push(check);
            Ok(())
        });
        debug_assert!(visited.is_ok(), "the visitor never fails");
        checks
    }

    /// The checks that [`supported_on`](Self::supported_on) makes, whether they hold or not.
    pub fn architecture_checks(&self, arch: Arch) -> [Check; 2] {
        architecture(self, arch)
    }

    fn visit_checks(&self, address: Option<u64>, visit: Visit<'_>) -> Result<(), TensorMapError> {
        if let Some(address) = address {
            ADDRESS_RULES.iter().filter_map(|rule| rule(self, address)).try_for_each(&mut *visit)?;
        }
        SHAPE_RULES.iter().try_for_each(|rule| rule(self, &mut *visit))
    }
}
