export { attempt } from '@retake/tape/format'
