export * from './events.js'
export * from './recorded-error.js'
export * from './values.js'
