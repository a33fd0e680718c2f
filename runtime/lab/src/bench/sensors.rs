//! Clock and power of a GPU, where NVML can be loaded; `None` everywhere else.

use nvml_wrapper::Nvml;
use nvml_wrapper::enum_wrappers::device::Clock;

use tilewright_runtime::DeviceInfo;
use tilewright_runtime::cuda::CudaDevice;

/// What a GPU reports while it works.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Reading {
    /// Clock of the multiprocessors.
    pub sm_clock_mhz: Option<u32>,
    /// Power drawn.
    pub power_w: Option<f64>,
}

/// The library, if it could be loaded, and which GPU to ask.
#[derive(Debug)]
pub(crate) struct Sensors {
    nvml: Option<Nvml>,
    bus_id: Option<String>,
}

impl Sensors {
    /// Sensors of a GPU, found by its place on the bus: NVML counts devices otherwise than CUDA.
    pub fn open(device: &CudaDevice) -> Sensors {
        // The library without a version suffix belongs to the toolkit; a driver alone has `.1`.
        let nvml = Nvml::init().or_else(|_| {
            Nvml::builder()
                .lib_path("libnvidia-ml.so.1".as_ref())
                .init()
        });
        Sensors {
            nvml: nvml.ok(),
            bus_id: device.bus_id().ok(),
        }
    }

    pub fn read(&self) -> Reading {
        let device = self.nvml.as_ref().zip(self.bus_id.as_deref());
        let device = device.and_then(|(nvml, id)| nvml.device_by_pci_bus_id(id).ok());
        let Some(device) = device else {
            return Reading::default();
        };
        Reading {
            sm_clock_mhz: device.clock_info(Clock::SM).ok(),
            power_w: device.power_usage().ok().map(|mw| f64::from(mw) / 1e3),
        }
    }

    /// The driver's version, as NVML or else as CUDA counts it.
    pub fn driver(&self, info: &DeviceInfo) -> String {
        let version = info.driver.unwrap_or(0);
        let counted = || format!("CUDA {}.{}", version / 1000, version % 1000 / 10);
        let told = self
            .nvml
            .as_ref()
            .and_then(|nvml| nvml.sys_driver_version().ok());
        told.unwrap_or_else(counted)
    }
}
