/** The page of a model of labels: give an instance, and see its tags and what speaks for them. */

export class LabelsPage {
}
