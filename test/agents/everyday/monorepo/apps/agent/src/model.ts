export { ask } from '../../../../model.mjs'
