export {
  DEMO_AGENT,
  type ShippedFolder,
  copyDemo,
  copyShipped,
  copyShippedToTemporary,
  freeModelSentence,
  recordShipped,
  withDemoRun,
} from './shipped-folder.js'
export { Tour, type TourRecording, type TourReplay } from './tour.js'
