// Imported many times by order-only.mjs, each time as another module.
export const value = new URL(import.meta.url).search
