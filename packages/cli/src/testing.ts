/** The test kit: a scripted model server. See docs/testing.md. */
export * from '@retake/engine/testing'
