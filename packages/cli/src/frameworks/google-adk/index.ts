/** `retake/google-adk`: names for the steps of Google's Agent Development Kit. */
export { nameSteps } from './name-steps.js'
