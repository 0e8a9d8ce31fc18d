export * from './events.js'
